// Which tests run on the other supported release of Node.
import { existsSync, readFileSync } from 'node:fs';
import test from 'ava';
import { readSources } from '../support/builders/sources.js';

interface Selection {
  readonly dependent: ReadonlySet<string>;
  readonly alsoOnOther: Readonly<Record<string, string>>;
  otherNodeTests(): readonly string[];
  importsOf(path: string): readonly string[];
}

const script = new URL('../../../scripts/other-node-tests.mjs', import.meta.url).href;
const { dependent, alsoOnOther, otherNodeTests, importsOf } = (await import(script)) as Selection;
const selected = otherNodeTests();

/** Processes and threads that are started by their path, each with a test that starts it. */
const programs: Readonly<Record<string, string>> = {
  'cluster/membership/watchdog/watchdog-thread.ts': 'test/integration/cluster/membership/watchdog.test.ts',
  'src/infra/sandbox/child.process.ts': 'test/integration/infra/sandbox/sandbox.test.ts',
  'src/infra/sandbox/orphan-guard.worker.ts': 'test/integration/infra/sandbox/sandbox.test.ts',
  'src/infra/storage/embedded/keeper.ts': 'test/integration/infra/storage/embedded-postgres.test.ts',
};

/** The sources that these load, at any distance. */
function loadedBy(paths: readonly string[]): ReadonlySet<string> {
  const loaded = new Set(paths);
  for (const path of loaded) {
    for (const name of importsOf(path)) if (name.endsWith('.ts')) loaded.add(name);
  }
  return loaded;
}

test('every part of the product that depends on the release of Node is loaded on both', (t) => {
  for (const by of Object.values(programs)) t.true(selected.includes(by), by);
  const loaded = loadedBy([...selected, ...Object.keys(programs)]);
  const parts = readSources('src', 'cluster').filter(({ packages }) =>
    packages.some((name) => dependent.has(name)),
  );
  t.true(parts.length > 20);
  t.deepEqual(
    parts.map(({ path }) => path).filter((path) => !loaded.has(path)),
    [],
  );
});

test('tests of processes, TLS, native modules and fetch run on both, pure logic on one', (t) => {
  for (const path of [
    'test/e2e/start.test.ts',
    'test/e2e/mcp-stdio.test.ts',
    'test/integration/cluster/links/grpc-link.test.ts',
    'test/integration/cluster/links/strangers.test.ts',
    'test/integration/infra/egress/fetch.test.ts',
    'test/integration/infra/sandbox/sandbox.test.ts',
    'test/integration/infra/storage/embedded-postgres.test.ts',
    'test/integration/supported-node.test.ts',
    'test/unit/tenancy/identity/passwords.test.ts',
    'test/unit/http/edge/sockets.test.ts',
  ]) {
    t.true(selected.includes(path), path);
  }
  t.false(selected.includes('test/unit/llm/routing.test.ts'));
  t.false(selected.includes('test/e2e/telemetry.test.ts'));
});

test('tests named by hand exist, and the packages are those of the project', (t) => {
  for (const path of Object.keys(alsoOnOther)) t.true(existsSync(path), path);
  const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as { dependencies: object };
  for (const name of dependent) t.true(name.startsWith('node:') || name in dependencies, name);
});

test('the second run stays short: it has at most a sixth of the tests', (t) => {
  const all = readSources('test/unit', 'test/integration', 'test/e2e').filter(({ path }) =>
    path.endsWith('.test.ts'),
  );
  t.true(selected.length * 6 <= all.length, `${selected.length} of ${all.length}`);
});
