import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import test from 'ava';
import { createDatabase } from '../support/database/database.js';
import { installPackage } from '../support/servers/installed-package.js';

const execute = promisify(execFile);
const root = fileURLToPath(new URL('../../../', import.meta.url));
const undo: (() => Promise<void>)[] = [];
const atEnd = { teardown: (step: () => Promise<void>) => void undo.push(step) };
let installed: Awaited<ReturnType<typeof installPackage>>;

test.before(async () => {
  installed = await installPackage(atEnd);
});

test.after.always(async () => {
  for (const step of undo.toReversed()) await step();
});

async function run(file: string, environment: Readonly<Record<string, string>> = {}): Promise<string> {
  const { PATH = '', HOME = '' } = process.env;
  const { stdout } = await execute(process.execPath, [file], {
    cwd: installed.folder,
    env: { PATH, HOME, ...environment },
    timeout: 60_000,
  });
  return stdout;
}

test('the package holds what runs, and no sources, tests or scripts', (t) => {
  const foreign = installed.files.filter(
    (path) =>
      !/^(?:bin|dist\/(?:cluster|console|generated|src|widget)|client\/dist|migrations|src\/app\/playground\/page|cluster\/membership\/redis)\//.test(
        path,
      ) && !/^(?:cluster\/README|README|CHANGELOG|SECURITY)\.md$|^package\.json$/.test(path),
  );
  t.deepEqual(foreign, []);
  t.deepEqual(
    installed.files.filter((path) => path.endsWith('.ts') && !path.endsWith('.d.ts')),
    [],
  );
});

test('the command line runs from an empty folder', async (t) => {
  const program = join(installed.folder, 'node_modules/troupe/bin/troupe.mjs');
  const { stdout } = await execute(process.execPath, [program, 'config'], { cwd: installed.folder });
  t.regex(stdout, /TROUPE_HTTP_PORT=8080/);
  const { stdout: help } = await execute(process.execPath, [program, '--help'], { cwd: installed.folder });
  const commands = [...help.matchAll(/^ {2}troupe (\S+)/gm)].map(([, name]) => name ?? '');
  t.true(commands.length > 10);
  for (const command of commands) {
    const { stdout: usage } = await execute(process.execPath, [program, command, '--help']);
    t.true(usage.startsWith('Usage: troupe'), command);
  }
});

test("the runtime's example runs as its README prints it", async (t) => {
  const readme = await readFile(join(installed.folder, 'node_modules/troupe/cluster/README.md'), 'utf8');
  const [, example = ''] = /```js\n([^]*?)```/.exec(readme) ?? [];
  t.true(example.trimEnd().split('\n').length <= 30);
  await writeFile(join(installed.folder, 'counter.mjs'), example);
  t.is(await run('counter.mjs'), '{ sum: 6 }\n');
});

test('a program starts a node in its own process, and stops it', async (t) => {
  const { url } = await createDatabase(t);
  const program = `
    import { startNode } from 'troupe';
    const lines = [];
    const node = await startNode({
      settings: { ...process.env, TROUPE_HTTP_PORT: '0', TROUPE_GRPC_PORT: '0', TROUPE_SIM: 'on', TROUPE_DATA_DIR: 'data' },
      log: (line) => lines.push(line),
    });
    const ready = await fetch(new URL('/health/ready', node.baseUrl));
    await node.stop();
    console.log(JSON.stringify({ status: ready.status, logged: lines.every((line) => JSON.parse(line).level) }));
  `;
  await writeFile(join(installed.folder, 'host.mjs'), program);
  const environment = { DATABASE_URL: url, TROUPE_MASTER_KEY: Buffer.alloc(32, 9).toString('base64') };
  t.deepEqual(JSON.parse(await run('host.mjs', environment)), { status: 200, logged: true });
  await writeFile(
    join(installed.folder, 'refused.mjs'),
    `import { SettingsError, startNode } from 'troupe';
     await startNode({ settings: {} }).catch((error) => console.log(error instanceof SettingsError, error.problems.length));`,
  );
  t.is(await run('refused.mjs'), 'true 2\n');
});

test('both entries have types for a strict program', async (t) => {
  const program = `
    import { type EmbeddedNode, startNode } from 'troupe';
    import { answers, type Handlers, jsonService, openLoneNode, freshProcessId, volatileActor } from 'troupe/cluster';
    const service = jsonService('typed.v1.Echo', { echo: answers<{ text: string }, { text: string }>() });
    const handlers: Handlers<typeof service> = { echo: ({ text }) => ({ text: text.toUpperCase() }) };
    const kind = volatileActor({ service, methods: {}, create: () => handlers });
    const { node } = await openLoneNode({ kinds: [kind], process: freshProcessId('typed') });
    const answer: { text: string } = await node.actor(kind, 'a', 'b').echo({ text: 'hello' });
    // @ts-expect-error the request has no such field
    await node.actor(kind, 'a', 'b').echo({ words: answer.text });
    const started: EmbeddedNode = await startNode({ settings: { DATABASE_URL: undefined } });
    await started.stop({ drainMs: 1 });
  `;
  await writeFile(join(installed.folder, 'typed.mts'), program);
  const options = ['--noEmit', '--strict', '--exactOptionalPropertyTypes', '--skipLibCheck'];
  const target = ['--target', 'es2023', '--module', 'nodenext', '--ignoreConfig'];
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  await t.notThrowsAsync(
    execute(process.execPath, [compiler, ...options, ...target, 'typed.mts'], { cwd: installed.folder }),
  );
});
