import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import test from 'ava';
import { readSources, type Source } from './support/sources.js';

/**
 * The rooms of the platform, from foundations to composition, and whose faces each may see. A new folder is entered
 * here first: where does it stand, what does it need?
 */
const foundations = ['config', 'errors', 'context', 'diagnostics', 'operations', 'plans'];
const mayImport: Readonly<Record<string, readonly string[]>> = {
  config: [],
  errors: [],
  context: ['errors'],
  plans: ['context'],
  operations: ['errors', 'context'],
  diagnostics: ['config', 'errors', 'context', 'operations'],
  storage: foundations,
  egress: foundations,
  actors: [...foundations, 'storage', 'sealing'],
  audit: [...foundations, 'storage'],
  vault: [...foundations, 'storage', 'audit'],
  sealing: [],
  mail: [...foundations, 'storage', 'sealing'],
  'mail-domains': [...foundations, 'storage', 'audit', 'egress'],
  identity: [...foundations, 'storage', 'audit', 'mail', 'sealing'],
  invites: [...foundations, 'storage', 'audit', 'mail', 'identity'],
  quota: [...foundations, 'storage', 'actors'],
  keys: [...foundations, 'storage', 'audit', 'quota'],
  telemetry: [...foundations, 'storage'],
  llm: [...foundations, 'storage', 'vault', 'quota', 'telemetry', 'egress'],
  usage: [...foundations, 'storage', 'quota'],
  calls: [...foundations, 'storage', 'vault', 'quota', 'llm', 'usage'],
  sandbox: ['errors', 'context', 'storage'],
  expressions: ['errors', 'context', 'sandbox'],
  sessions: [
    ...foundations,
    'storage',
    'audit',
    'sealing',
    'actors',
    'quota',
    'llm',
    'calls',
    'agents',
    'conversations',
    'consumers',
    'realtime',
    'turns',
    'usage',
  ],
  turns: [
    ...foundations,
    'agents',
    'calls',
    'llm',
    'vault',
    'egress',
    'expressions',
    'conversations',
    'quota',
  ],
  conversations: [...foundations, 'llm'],
  realtime: [...foundations, 'storage', 'conversations'],
  consumers: [...foundations, 'storage', 'audit', 'conversations', 'realtime'],
  agents: [...foundations, 'storage', 'audit', 'vault', 'egress', 'sandbox', 'expressions'],
  databases: [...foundations, 'storage', 'audit', 'vault', 'egress'],
  triggers: [
    ...foundations,
    'storage',
    'sealing',
    'audit',
    'vault',
    'egress',
    'sandbox',
    'expressions',
    'quota',
    'agents',
    'conversations',
    'sessions',
    'databases',
    'mail',
    'mail-domains',
    'realtime',
  ],
  authentication: foundations,
  documents: foundations,
  playground: foundations,
  edge: foundations,
};

/** Where everything is wired together; these see all faces. */
const composition = new Set(['main', 'command', 'seed', 'node']);

/** Files beyond 400 lines, each with the reason why it is one. Files beyond 800 are never right. */
const longFiles: Readonly<Record<string, string>> = {};

const platform = readSources('src');
const runtime = readSources('cluster');
// This file holds the very words that it looks for.
const tests = readSources('test', 'bench').filter(({ path }) => path !== 'test/tidy.test.ts');

/** `src/keys/store.ts` → `keys`, `src/main.ts` → `main`. */
function roomOf(path: string): string {
  return (path.split('/')[1] ?? '').replace(/\.ts$/, '');
}

test('every room of the platform imports only what its place allows', (t) => {
  const wrong: string[] = [];
  for (const { path, imports } of platform) {
    const room = roomOf(path);
    if (composition.has(room)) continue;
    const allowed = mayImport[room];
    if (allowed === undefined) {
      wrong.push(`${path}: the folder ${room} has no place in the table of this test`);
      continue;
    }
    for (const target of imports.filter((one) => one.startsWith('src/'))) {
      const other = roomOf(target);
      if (other !== room && !allowed.includes(other)) wrong.push(`${path} imports ${target}`);
    }
  }
  t.deepEqual(wrong, []);
});

test('subjects meet only through their faces', (t) => {
  const open = new Set(['errors', 'context']);
  const wrong: string[] = [];
  for (const { path, imports } of platform) {
    for (const target of imports.filter((one) => one.startsWith('src/'))) {
      const other = roomOf(target);
      if (
        other === roomOf(path) ||
        open.has(other) ||
        target === `src/${other}/index.ts` ||
        target === `src/${other}.ts`
      )
        continue;
      wrong.push(`${path} imports ${target}`);
    }
  }
  t.deepEqual(wrong, []);
});

test('the runtime knows nothing of the platform, and the platform only the face of the runtime', (t) => {
  const fromRuntime = runtime.flatMap(({ path, imports }) =>
    imports
      .filter((target) => !/^(?:cluster|generated)\//.test(target))
      .map((target) => `${path} imports ${target}`),
  );
  const fromPlatform = platform.flatMap(({ path, imports }) =>
    imports
      .filter((target) => target.startsWith('cluster/') && target !== 'cluster/index.ts')
      .map((target) => `${path} imports ${target}`),
  );
  t.deepEqual([...fromRuntime, ...fromPlatform], []);
});

test('no file imports itself by a detour', (t) => {
  const graph = new Map([...platform, ...runtime].map(({ path, imports }) => [path, imports]));
  const done = new Set<string>();
  const circles: string[] = [];
  const walk = (path: string, trail: readonly string[]): void => {
    if (trail.includes(path)) {
      circles.push([...trail.slice(trail.indexOf(path)), path].join(' → '));
      return;
    }
    if (done.has(path)) return;
    for (const next of graph.get(path) ?? []) walk(next, [...trail, path]);
    done.add(path);
  };
  for (const path of graph.keys()) walk(path, []);
  t.deepEqual(circles, []);
});

test('each outside protocol has one user', (t) => {
  const users: Readonly<Record<string, RegExp>> = {
    croner: /^src\/triggers\/schedule\//,
    'uWebSockets.js': /^src\/edge\//,
    '@grpc/grpc-js': /^cluster\/links\/grpc\//,
    ioredis: /^(?:cluster\/membership\/redis|src\/storage\/redis)\//,
    slonik: /^src\/storage\//,
    nodemailer: /^src\/mail\//,
    '@jmespath-community/jmespath': /^src\/expressions\//,
    ajv: /^src\/agents\/schemas\//,
    standardwebhooks: /^src\/triggers\/deliveries\//,
    marked: /^src\/triggers\/answers\//,
    'smtp-server': /^src\/triggers\/mail\//,
    imapflow: /^src\/triggers\/mail\//,
    mailparser: /^src\/triggers\/mail-reading\//,
    mailauth: /^src\/triggers\/mail-reading\//,
  };
  const wrong = [...platform, ...runtime].flatMap(({ path, packages }) =>
    packages
      .filter((name) => users[name] !== undefined && !users[name].test(path))
      .map((name) => `${path} imports ${name}`),
  );
  t.deepEqual(wrong, []);
});

test('clock, chance and environment are handed in', (t) => {
  const environment = platform.filter(
    ({ path, text }) =>
      text.includes('process.env') && !/^src\/(?:config|command|storage\/embedded)\//.test(path),
  );
  const time = runtime.filter(
    ({ path, text }) =>
      !/^cluster\/(?:time|membership\/watchdog)/.test(path) &&
      /\bDate\.now\(|\bMath\.random\(|\bsetTimeout\(|\bsetInterval\(|\bperformance\.now\(/.test(
        withoutComments(text),
      ),
  );
  t.deepEqual(
    [...environment, ...time].map(({ path }) => path),
    [],
  );
});

/** Where a list is the arguments of a call, the reason why it is short, whatever anybody sends. */
const shortLists: Readonly<Record<string, string>> = {
  'src/triggers/schedule/zone-clock.ts': 'two offsets',
  'src/command/main.ts': 'the commands of this program',
};

test('no list from elsewhere is spread over the arguments of a call, which some 100,000 items overflow', (t) => {
  const spread =
    /\.(?:push|unshift|concat)\(\.\.\.|\.splice\([^)]*\.\.\.|\bMath\.(?:min|max)\([^)]*\.\.\.|\.from(?:CharCode|CodePoint)\(\.\.\./;
  const wrong = [...platform, ...runtime].filter(
    ({ path, text }) => shortLists[path] === undefined && spread.test(text),
  );
  t.deepEqual(
    wrong.map(({ path }) => path),
    [],
  );
});

test('files keep to one reason to change', (t) => {
  const long = [...platform, ...runtime, ...tests]
    .filter(({ path, text }) => {
      const lines = text.split('\n').length;
      return lines > 800 || (lines > 400 && longFiles[path] === undefined);
    })
    .map(({ path }) => path);
  t.deepEqual(long, []);
});

test('folders are at most two levels deep', (t) => {
  const deep = [...platform, ...runtime]
    .filter(({ path }) => path.split('/').length > 4)
    .map(({ path }) => path);
  t.deepEqual(deep, []);
});

test('nothing is skipped, silenced or left for later', (t) => {
  const marks = [
    /\b(?:test|it|describe)\.(?:skip|only|todo|failing)\b/,
    /\b(?:TODO|FIXME|XXX)\b/,
    /@ts-ignore|(?:eslint|oxlint)-disable|\bas any\b|\bas unknown as\b/,
  ];
  const wrong = [...platform, ...runtime, ...tests].flatMap(({ path, text }: Source) =>
    marks.filter((mark) => mark.test(text)).map((mark) => `${path}: ${mark.source}`),
  );
  t.deepEqual(wrong, []);
});

test('the lock file names no download address', (t) => {
  t.false(readFileSync('package-lock.json', 'utf8').includes('"resolved"'));
});

test('no file names a path of one machine', (t) => {
  const files = execFileSync('git', ['ls-files'], { encoding: 'utf8' }).split('\n').filter(Boolean);
  const pattern = /\/work\/|\/root\/|\/farm\//;
  const wrong = files.filter(
    (file) => !/package-lock\.json$|tidy\.test\.ts$/.test(file) && pattern.test(readFileSync(file, 'utf8')),
  );
  t.deepEqual(wrong, []);
});

function withoutComments(text: string): string {
  return text.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '');
}
