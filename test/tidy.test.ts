import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import test from 'ava';
import { triggerTypes } from '../src/automation/triggers/types/registry.js';
import { circlesOf } from './support/builders/circles.js';
import { readSources, type Source } from './support/builders/sources.js';

/** The layers of the platform, top first. A layer imports only from those below it. */
const layers = [
  'app',
  'mcp',
  'automation',
  'conversations',
  'agents',
  'models',
  'tenancy',
  'http',
  'llm',
  'infra',
  'kernel',
];

/** Layers whose folders are subjects of their own: they meet through their `index.ts`. The others are one subject. */
const divided = new Set(['conversations', 'models', 'tenancy', 'http', 'infra']);

/** The one folder of `automation` with a face of its own; the others share the face of the layer. */
const ownFaces = new Set(['automation/databases']);

/** The way of a message through `automation`, last step first: a folder imports only from those below it. */
const messageFlow = [
  'management',
  'mail',
  'sources',
  'intake',
  'inbox',
  'outbox',
  'messages',
  'triggers',
  'mail-reading',
  'databases',
];

/** Files beyond 400 lines, each with the reason why it is one. Files beyond 800 are never right. */
const longFiles: Readonly<Record<string, string>> = {};

/** A path of the project in a code span. */
const namedPath =
  /`((?:src|cluster|docs|test|bench|proto|migrations|scripts|bin|\.ci|\.devcontainer)\/[\w./-]*)`/g;

const platform = readSources('src');
const runtime = readSources('cluster');
// This file contains the words that it searches for.
const tests = readSources('test', 'bench').filter(({ path }) => path !== 'test/tidy.test.ts');

/** `src/tenancy/keys/keys.store.ts` → `tenancy`. */
function layerOf(path: string): string {
  return path.split('/')[1] ?? '';
}

/** `src/tenancy/keys/keys.store.ts` → `tenancy/keys`, `src/agents/tools/fill.ts` → `agents`. */
function subjectOf(path: string): string {
  const [, layer = '', folder = ''] = path.split('/');
  const subject = `${layer}/${folder}`;
  return divided.has(layer) || ownFaces.has(subject) ? subject : layer;
}

/** Every import of one platform file by another. */
function platformImports(): readonly { readonly path: string; readonly target: string }[] {
  return platform.flatMap(({ path, imports }) =>
    imports.filter((one) => one.startsWith('src/')).map((target) => ({ path, target })),
  );
}

/** Imports that go up a list of places, or whose file has no place in it. */
function upwards(order: readonly string[], placeOf: (path: string) => string): readonly string[] {
  return platformImports()
    .filter(({ path, target }) => {
      const from = order.indexOf(placeOf(path));
      const to = order.indexOf(placeOf(target));
      return from === -1 || to === -1 || to < from;
    })
    .map(({ path, target }) => `${path} imports ${target}`);
}

test('a layer imports only from the layers below it', (t) => {
  t.deepEqual(upwards(layers, layerOf), []);
});

test('messages flow one way through automation', (t) => {
  // The layer's own files wire its folders; files outside of the layer are at the end of the list.
  const order = ['', ...messageFlow, 'outside'];
  const place = (path: string): string => {
    const [, layer, folder, file] = path.split('/');
    if (layer !== 'automation') return 'outside';
    return file === undefined ? '' : (folder ?? '');
  };
  const wrong = upwards(order, place).filter((line) => line.startsWith('src/automation/'));
  t.deepEqual(wrong, []);
});

test('subjects meet only through their faces', (t) => {
  const wrong = platformImports()
    .filter(({ path, target }) => {
      const subject = subjectOf(target);
      const isOpen = layerOf(path) === 'app' || layerOf(target) === 'kernel';
      return !isOpen && subject !== subjectOf(path) && target !== `src/${subject}/index.ts`;
    })
    .map(({ path, target }) => `${path} imports ${target}`);
  t.deepEqual(wrong, []);
});

test('a command that only checks does not wait until a whole node is loaded', (t) => {
  const eager = new Map(platform.map(({ path, eagerImports }) => [path, eagerImports]));
  for (const command of ['start', 'serve', 'doctor']) {
    const loaded = new Set([`src/app/command/${command}.ts`]);
    for (const path of loaded) for (const target of eager.get(path) ?? []) loaded.add(target);
    t.deepEqual(
      [...loaded].filter((path) =>
        /^src\/(?:app\/(?!command\/|node\/outside)|mcp|automation|conversations)/.test(path),
      ),
      [],
      command,
    );
  }
});

test('no two subjects import each other, directly or by a detour', (t) => {
  const graph = new Map<string, Set<string>>();
  for (const { path, target } of platformImports()) {
    const [from, to] = [subjectOf(path), subjectOf(target)];
    if (from !== to) graph.set(from, (graph.get(from) ?? new Set()).add(to));
  }
  t.deepEqual(circlesOf(graph), []);
});

test("the runtime imports nothing of the platform, and the platform only the runtime's face", (t) => {
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
  t.deepEqual(circlesOf(new Map([...platform, ...runtime].map(({ path, imports }) => [path, imports]))), []);
});

test('every path named in the README, the guides and the architecture pages exists', (t) => {
  const guides = ['docs/guides', 'docs/concepts'].flatMap((folder) =>
    readdirSync(folder).map((name) => `${folder}/${name}`),
  );
  const wrong = [
    'README.md',
    'docs/start.md',
    'docs/comparisons.md',
    'docs/architecture.md',
    'docs/threat-model.md',
    'SECURITY.md',
    'CONTRIBUTING.md',
    ...guides,
  ].flatMap((page) =>
    [...readFileSync(page, 'utf8').matchAll(namedPath)]
      .map(([, path = '']) => path)
      .filter((path) => !existsSync(path))
      .map((path) => `${page} names ${path}`),
  );
  t.deepEqual(wrong, []);
});

test('each outside protocol has one user', (t) => {
  const users: Readonly<Record<string, RegExp>> = {
    croner: /^src\/automation\/triggers\/schedule\//,
    'uWebSockets.js': /^src\/http\/edge\//,
    '@grpc/grpc-js': /^cluster\/links\/grpc\//,
    ioredis: /^(?:cluster\/membership\/redis|src\/infra\/storage\/redis)\//,
    'pg-copy-streams': /^src\/infra\/storage\/backup\//,
    slonik: /^src\/infra\/storage\//,
    nodemailer: /^src\/infra\/mail\//,
    '@jmespath-community/jmespath': /^src\/infra\/expressions\//,
    ajv: /^src\/agents\/schemas\//,
    standardwebhooks: /^src\/automation\/outbox\//,
    marked: /^src\/automation\/outbox\/replies\//,
    'smtp-server': /^src\/automation\/mail\//,
    imapflow: /^src\/automation\/mail\//,
    mailparser: /^src\/automation\/mail-reading\//,
    '@opentelemetry/otlp-exporter-base': /^src\/infra\/telemetry\//,
    '@opentelemetry/sdk-logs': /^src\/infra\/telemetry\//,
    '@opentelemetry/sdk-metrics': /^src\/infra\/telemetry\//,
    '@opentelemetry/sdk-trace': /^src\/infra\/telemetry\//,
    mailauth: /^src\/automation\/mail-reading\//,
  };
  const wrong = [...platform, ...runtime].flatMap(({ path, packages }) =>
    packages
      .filter((name) => users[name] !== undefined && !users[name].test(path))
      .map((name) => `${path} imports ${name}`),
  );
  t.deepEqual(wrong, []);
});

/** Places that compare the name of a trigger type, each with the reason. Everything else asks the type's record. */
const namesTriggerTypes: Readonly<Record<string, string>> = {
  'src/automation/triggers/types/': 'the records of the types',
  'src/automation/triggers/mail-triggers.store.ts': 'the index of addresses holds triggers of one type',
  'src/automation/messages/sender-access.ts': 'a column of members has the same name as a type',
};

test('a trigger type is known to its record and its own source alone', (t) => {
  const name = `'(?:${triggerTypes.join('|')})'`;
  const asked = new RegExp(
    `[!=]==?\\s*${name}|${name}\\s*[!=]==?|\\bcase ${name}|\\bconfigAs\\(\\s*${name}|\\b(?:kind|trigger_type) = ${name}`,
  );
  const askers = platform.filter(({ text }) => asked.test(withoutComments(text))).map(({ path }) => path);
  const places = Object.keys(namesTriggerTypes);
  t.deepEqual(
    askers.filter((path) => !places.some((place) => path.startsWith(place))),
    [],
    'ask the record in src/automation/triggers/types/ instead',
  );
  const idle = places.slice(1).filter((place) => !askers.includes(place));
  t.deepEqual(idle, [], 'these places no longer need their exception');
});

/**
 * The places of the platform that use the machine's clock, timers or chance themselves, each with the reason. A path that
 * ends with a slash stands for its folder. Everything else gets them handed in, so that tests can hand in their own.
 */
const ownClock: Readonly<Record<string, string>> = {
  'src/infra/platform/': 'provides the ids and the chance that are handed in',
  'src/app/command/': 'the program itself: it begins and ends the process',
  'src/app/library.ts': 'an entry to the program, as the command line is',
  'src/app/main.ts': 'hands the clock and chance of the machine to the node',
  'src/app/seed/': 'makes up the demo account, once, at the start of the program',
  'src/infra/diagnostics/logger.ts': 'the log is there before anything is handed in',
  'src/infra/diagnostics/log-destination.ts': 'flushes the log of the process until its very end',
  'src/infra/egress/': 'bounds real sockets, which no other clock moves',
  'src/infra/runtime/actors.ts':
    'leases are kept by the clock of the machine, whatever clock the platform is given',
  'src/infra/sandbox/orphan-guard.worker.ts': 'a thread of a child process',
  'src/infra/storage/embedded/': 'starts and keeps PostgreSQL in processes of their own',
  'src/infra/storage/migrate.ts': 'runs before there is a store to hand anything to',
};

const usesClockOrChance =
  /\bDate\.now\b|\bnew Date\(\)|\bMath\.random\b|\bset(?:Timeout|Interval|Immediate)\(|\bperformance\.now\b|\brandom(?:UUID|Bytes|Int|Fill)\(|\bgetRandomValues\b|\bAbortSignal\.timeout\b|'node:timers|\bhrtime\b|\bsystem(?:Time|Random|Ids|Platform)\b/;

const hasOwnClock = (path: string): boolean =>
  Object.keys(ownClock).some((place) => (place.endsWith('/') ? path.startsWith(place) : path === place));

test('clock and chance are handed in everywhere in the platform', (t) => {
  const wrong = platform.filter(
    ({ path, text }) => usesClockOrChance.test(withoutComments(text)) && !hasOwnClock(path),
  );
  t.deepEqual(
    wrong.map(({ path }) => path),
    [],
  );
  const idle = Object.keys(ownClock).filter(
    (place) =>
      !platform.some(
        ({ path, text }) => path.startsWith(place) && usesClockOrChance.test(withoutComments(text)),
      ),
  );
  t.deepEqual(idle, [], 'these places no longer need their exception');
});

test('clock, chance and environment are handed in', (t) => {
  const environment = platform.filter(
    ({ path, text }) =>
      text.includes('process.env') &&
      !/^src\/(?:kernel\/config|app\/command|infra\/storage\/embedded)\//.test(path),
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

/** Files that pass a list as arguments, each with the reason why the list is short for any input. */
const shortLists: Readonly<Record<string, string>> = {
  'src/automation/triggers/schedule/zone-clock.ts': 'two offsets',
  'src/app/command/main.ts': 'the commands of this program',
};

test("no list from elsewhere is spread over a call's arguments, which some 100,000 items overflow", (t) => {
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

test('unit tests start no other process', (t) => {
  const starting =
    /^test\/support\/(?:database\/|servers\/(?:\w+-process|nodes|processes|program|redis|sandbox)\.ts$)/;
  const wrong = tests.filter(
    ({ path, imports, packages }) =>
      path.startsWith('test/unit/') &&
      (packages.includes('node:child_process') || imports.some((name) => starting.test(name))),
  );
  t.deepEqual(
    wrong.map(({ path }) => path),
    [],
  );
});

test('folders are at most three levels deep: layer, subject, part', (t) => {
  const deep = [...platform, ...runtime]
    .filter(({ path }) => path.split('/').length > 5)
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
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
    packages: Readonly<Record<string, { readonly resolved?: string; readonly link?: true }>>;
  };
  const { workspaces } = JSON.parse(readFileSync('package.json', 'utf8')) as { workspaces: string[] };
  // A link leads to a folder of this project.
  const wrong = Object.entries(packages).filter(
    ([, { resolved, link }]) => resolved !== undefined && !(link === true && workspaces.includes(resolved)),
  );
  t.deepEqual(wrong, []);
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
