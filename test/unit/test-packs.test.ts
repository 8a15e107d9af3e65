// How test files come to share processes.
import { existsSync } from 'node:fs';
import test from 'ava';

interface Pack {
  readonly path: string;
  readonly files: readonly string[];
}

interface Packs {
  readonly alone: Readonly<Record<string, string>>;
  packsOf(files: readonly string[], size: number): readonly Pack[];
}

const moduleOf = async <Module>(script: string): Promise<Module> =>
  (await import(new URL(`../../../scripts/${script}`, import.meta.url).href)) as Module;

const { alone, packsOf } = await moduleOf<Packs>('test-packs.mjs');
const { testFiles, declarationOf } = await moduleOf<{
  testFiles(places: readonly string[]): readonly string[];
  declarationOf(
    files: readonly string[],
    title: string,
  ): { readonly file: string; readonly title: string } | undefined;
}>('test-files.mjs');

const { planOf } = await moduleOf<{
  planOf(words: readonly string[]): {
    readonly files: readonly string[];
    readonly packs: readonly Pack[];
    readonly stages: readonly (readonly string[])[];
  };
}>('test-stages.mjs');

const all = testFiles(['dist/test']);
const packs = packsOf(all, 6);
const packOf = (file: string): Pack | undefined => packs.find(({ files }) => files.includes(file));

test('each test file is in one pack, and a pack holds at most its size of one subject', (t) => {
  t.deepEqual(packs.flatMap(({ files }) => files).toSorted(), [...all].toSorted());
  t.is(new Set(packs.map(({ path }) => path)).size, packs.length);
  for (const { path, files } of packs) {
    const folders = files.map((file) => file.split('/').slice(2, 4).join('/'));
    if (path.startsWith('dist/packs/') && !path.includes('/others')) t.is(new Set(folders).size, 1, path);
    t.true(files.length <= 6, path);
  }
  t.true(packs.length < all.length / 2, `${packs.length} packs of ${all.length} files`);
});

test('files that change their process, record its traces, wait while they are loaded, have hooks for each test or nodes of their own are alone', (t) => {
  for (const file of [
    'dist/test/integration/http/edge/slow-clients.test.js',
    'dist/test/unit/test-packs.test.js',
    'dist/test/integration/tenancy/identity/sign-in-limits.test.js',
    'dist/test/cluster/killed-calls.test.js',
    'dist/test/e2e/planted-vendor-key.test.js',
    'dist/test/e2e/telemetry-export.test.js',
    'dist/test/unit/http/edge/tracing.test.js',
    'dist/test/tidy.test.js',
  ]) {
    t.deepEqual(packOf(file), { path: file, files: [file] });
  }
});

test('the list of files that are alone names files that exist', (t) => {
  t.deepEqual(
    Object.keys(alone).filter((file) => !existsSync(file)),
    [],
  );
});

test('a whole run has a stage for each kind: unit tests first, then integration, then whole nodes', (t) => {
  const { files, packs: planned, stages } = planOf([]);
  t.deepEqual(files, all);
  t.deepEqual(planned.flatMap((pack) => pack.files).toSorted(), [...all].toSorted());
  t.is(stages.length, 3);
  const [unit = [], integration = [], nodes = []] = stages;
  t.true(unit.every((path) => /^dist\/(?:packs|test)\/(?:unit\/|tidy\.|tables\.)/.test(path)));
  t.true(integration.every((path) => /^dist\/(?:packs|test)\/integration\//.test(path)));
  t.false(nodes.some((path) => /^dist\/(?:packs|test)\/(?:unit|integration)\//.test(path)));
});

test('few files run as they are, options and patterns go to ava, and a place without tests is refused', (t) => {
  const few = ['dist/test/tidy.test.js', 'dist/test/tables.test.js'];
  t.deepEqual(planOf(few), { files: few.toSorted(), packs: [], stages: [few.toSorted()] });
  const match = ['dist/test/tidy.test.js', '--match', '*layers*'];
  t.deepEqual(planOf(match), { files: [], packs: [], stages: [match] });
  t.throws(() => planOf(['dist/test/nowhere']), {
    message: /^No test file at dist\/test\/nowhere: name files/,
  });
});

test('a failure is led back to the file that declares its test', (t) => {
  const title = 'the list of files that are alone names files that exist';
  t.deepEqual(declarationOf(all, `packs › unit › others › ${title}`), {
    file: 'dist/test/unit/test-packs.test.js',
    title,
  });
  t.is(
    declarationOf(all, `packs › unit › others › ${['no', 'such', 'title', 'anywhere'].join(' ')}`),
    undefined,
  );
});
