// Puts test files into packs: a pack is a test file that imports others, so that they share one process. A process costs
// half a second of a core for the runner, and up to two for the modules of a node.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = 'dist/packs';

/** Files whose tests would disturb others in their process, or be disturbed: by path from the root, with the reason. */
export const alone = {
  'test/console/every-screen.test.ts': 'takes as long as a pack',
  'test/e2e/bad-input.test.ts': 'blocks the event loop with bodies',
  'test/e2e/fuzz.test.ts': 'blocks the event loop with requests',
  'test/e2e/hostile-expressions.test.ts': 'holds both cores',
  'test/e2e/raw-fuzz.test.ts': 'opens hundreds of connections',
  'test/e2e/tenants-in-statements.test.ts': 'its parser of SQL loads while it is imported',
  'test/integration/cluster/membership/watchdog.test.ts': 'blocks the event loop to be noticed',
  'test/integration/http/edge/bodies.test.ts': 'blocks the event loop with bodies',
  'test/integration/http/edge/large-answers.test.ts': 'fills memory with answers and bounds it',
  'test/integration/http/edge/raw-requests.test.ts': 'opens hundreds of connections',
  'test/integration/http/edge/slow-answers.test.ts': 'fills memory with answers and bounds it',
  'test/integration/http/edge/slow-clients.test.ts': 'measures memory, and opens thousands of connections',
  'test/integration/infra/egress/fetch.test.ts': 'blocks the event loop with large answers',
  'test/integration/infra/sandbox/sandbox.test.ts': 'reads large results of hostile expressions',
  'test/integration/infra/storage/backup.test.ts': 'starts servers of PostgreSQL',
  'test/integration/infra/storage/embedded-account.test.ts': 'starts servers of PostgreSQL',
  'test/integration/infra/storage/embedded-postgres.test.ts': 'starts servers of PostgreSQL and kills them',
  'test/integration/infra/storage/store.test.ts':
    'asserts how connections fail, which a blocked event loop changes',
  'test/unit/console/session.test.ts': 'replaces fetch and the time limits of its process',
};

/** Files of other kinds are few and take long. */
const shareable = /^test\/(?:unit|integration|console|e2e)\//;
/** The processes that an end-to-end file starts take the time, so it gains nothing in a pack. */
const startsProcesses = /\b(?:runProgram|runCommand|startNodes|spawn|fork)\(/;
/** Calls that block the event loop, which the other files of the pack need. */
const blocks = /\b(?:spawnSync|execFileSync|execSync|Atomics\.wait)\(/;
/** Hooks and contexts of a file would be those of its pack; a file that waits while it is loaded declares too late. */
const unshareable =
  /\bt\.context\b|\btest\.(?:serial\.)?(?:beforeEach|afterEach)\b|^(?:(?:const|let) (?![^\n]*\basync\b)[^\n]*)?\bawait\b/m;

/** A process has one tracer provider and one dispatcher of requests: of two files that set it, one would lose. */
const setsGlobals = /\b(?:recordSpans|setGlobal[A-Z]\w+)\(|\bOtlpReceiver\b/;

/** @typedef {{ path: string, files: string[] }} Pack the path is that of the only file, or of a file to be written */

/**
 * Packs of at most `size` files of one subject each.
 * @param {readonly string[]} files
 * @param {number} size
 * @returns {Pack[]}
 */
export function packsOf(files, size) {
  const packs = [];
  /** @type {Map<string, string[]>} */
  const bySubject = new Map();
  for (const file of files) {
    const subject = subjectOf(file);
    if (subject === undefined) packs.push({ path: file, files: [file] });
    else bySubject.set(subject, [...(bySubject.get(subject) ?? []), file]);
  }
  for (const [subject, all] of bySubject) packs.push(...dealt(subject, all, Math.ceil(all.length / size)));
  return packs;
}

/** Deals the files to the packs in turn: neighbours often cost alike. */
function dealt(subject, files, count) {
  return Array.from({ length: count }, (_, index) => ({
    path: `${folder}/${subject}${count === 1 ? '' : `-${index + 1}`}.test.js`,
    files: files.filter((_file, place) => place % count === index),
  }));
}

/** The folder below that of the kind, as `unit/http`; undefined if the file does not share its process. */
function subjectOf(file) {
  const source = file.replace(/^dist\//, '').replace(/\.js$/, '.ts');
  const [, kind, ...rest] = source.split('/');
  // A file beside the kinds reads the whole tree.
  if (rest.length === 0 || source in alone) return undefined;
  const text = readFileSync(join(root, file), 'utf8');
  if (!shareable.test(source) || [unshareable, blocks, setsGlobals].some((rule) => rule.test(text)))
    return undefined;
  if (kind === 'e2e' && startsProcesses.test(text)) return undefined;
  return `${kind}/${rest.length > 1 ? rest[0] : 'others'}`;
}

/** Writes the packs, and removes those of the last run. @param {readonly Pack[]} packs */
export function writePacks(packs) {
  rmSync(join(root, folder), { recursive: true, force: true });
  for (const { path, files } of packs) {
    if (files.length === 1 && files[0] === path) continue;
    const place = dirname(join(root, path));
    mkdirSync(place, { recursive: true });
    const imports = files.map((file) => `import ${JSON.stringify(relative(place, join(root, file)))};\n`);
    writeFileSync(join(root, path), imports.join(''));
  }
}
