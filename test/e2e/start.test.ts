import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { eventually } from '../support/clocks/eventually.js';
import { type Program, runCommand, runProgram } from '../support/servers/program.js';

interface Bootstrap {
  readonly base_url: string;
  readonly tenant_id: string;
  readonly api_key: string;
  readonly access_token: string;
  readonly agent_id: string;
  readonly owner: { readonly email: string; readonly password: string };
}

/** First starts make a database; two slow cores with a test suite on them take their time. */
const patience = { timeoutMs: 90_000, everyMs: 100 };

async function dataFolder(t: ExecutionContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'troupe-start-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

async function start(
  t: ExecutionContext,
  folder: string,
): Promise<{ program: Program; bootstrap: Bootstrap }> {
  const program = runProgram('bin/start.mjs', [], { TROUPE_DATA_DIR: folder, TROUPE_HTTP_PORT: '0' });
  t.teardown(async () => {
    program.process.kill('SIGTERM');
    await program.ended;
  });
  await eventually(() => program.output().includes('Ctrl-C stops') || program.process.exitCode !== null, {
    ...patience,
    what: 'the start',
  });
  t.true(program.output().includes('Troupe is ready'), program.output());
  const bootstrap = JSON.parse(await readFile(join(folder, 'bootstrap.json'), 'utf8')) as Bootstrap;
  return { program, bootstrap };
}

async function quotaOf(bootstrap: Bootstrap): Promise<number> {
  return (await fetch(`${bootstrap.base_url}/api/quota`, { headers: { 'x-api-key': bootstrap.api_key } }))
    .status;
}

/** Pastes the `curl` that the start printed into a shell. */
async function answerOfPrintedCommand(program: Program): Promise<string> {
  const command = /curl -N [^]*?"stream": true\}'/.exec(program.output())?.[0] ?? 'no command was printed';
  const { stdout } = await promisify(execFile)('sh', ['-c', command]);
  return stdout;
}

// One after the other: each brings a database and a node of its own.
test.serial(
  'npm start serves, stops cleanly on SIGTERM and Ctrl-C, and keeps its data, also after kill -9',
  async (t) => {
    t.timeout(300_000);
    const folder = await dataFolder(t);
    const first = await start(t, folder);
    t.is(await quotaOf(first.bootstrap), 200);
    t.is((await stat(join(folder, 'bootstrap.json'))).mode & 0o777, 0o600);
    t.true(first.program.output().includes(first.bootstrap.api_key));
    t.true(first.program.output().includes(first.bootstrap.owner.password));
    t.regex(
      await answerOfPrintedCommand(first.program),
      /\{"chunk":"echo:","done":false\}[^]*"done":true,"usage"/,
    );
    first.program.process.kill('SIGTERM');
    t.is(await first.program.ended, 0);
    t.true(first.program.output().includes('Stopped'));

    const second = await start(t, folder);
    t.is(second.bootstrap.tenant_id, first.bootstrap.tenant_id);
    t.is(second.bootstrap.api_key, first.bootstrap.api_key);
    t.is(second.bootstrap.agent_id, first.bootstrap.agent_id);
    t.is(await quotaOf(second.bootstrap), 200);
    second.program.process.kill('SIGKILL');
    t.is(await second.program.ended, 'SIGKILL');

    const third = await start(t, folder);
    t.is(await quotaOf(third.bootstrap), 200);
    third.program.process.kill('SIGINT');
    t.is(await third.program.ended, 0);
  },
);

test.serial('npm start stops with npm, on SIGTERM to npm or after npm was killed', async (t) => {
  t.timeout(300_000);
  const folder = await dataFolder(t);
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    const npm = runCommand('npm', ['start'], { TROUPE_DATA_DIR: folder, TROUPE_HTTP_PORT: '0' });
    await eventually(() => npm.output().includes('Ctrl-C stops') || npm.process.exitCode !== null, patience);
    const bootstrap = JSON.parse(await readFile(join(folder, 'bootstrap.json'), 'utf8')) as Bootstrap;
    t.is(await quotaOf(bootstrap), 200);
    npm.process.kill(signal);
    await eventually(() => npm.output().includes('Stopped. The data is kept.'), patience);
    await t.throwsAsync(quotaOf(bootstrap));
  }
});

test.serial('commands work beside a running node', async (t) => {
  t.timeout(300_000);
  const folder = await dataFolder(t);
  const { bootstrap } = await start(t, folder);
  const environment = { TROUPE_DATA_DIR: folder };
  const words = ['keys', 'create', '--tenant', bootstrap.tenant_id, '--name', 'root', '--role', 'owner'];
  const create = runProgram('bin/troupe.mjs', words, environment);
  t.is(await create.ended, 0, create.output());
  const ownerKey = /svc_live_\w+/.exec(create.output())?.[0] ?? '';
  const me = await fetch(`${bootstrap.base_url}/api/quota`, { headers: { 'x-api-key': ownerKey } });
  t.is(me.status, 200);

  const plan = runProgram('bin/troupe.mjs', ['tenants', 'plan', bootstrap.tenant_id, 'free'], environment);
  t.is(await plan.ended, 0, plan.output());
  // Looks count in the caller's window: a key of the new plan has ten a minute, and a user has more.
  const asUser = { authorization: `Bearer ${bootstrap.access_token}`, 'x-tenant-id': bootstrap.tenant_id };
  await eventually(
    async () => {
      const asked = await fetch(`${bootstrap.base_url}/api/quota`, { headers: asUser });
      const { quota } = (await asked.json()) as { quota: { limit: number } };
      return quota.limit === 100_000;
    },
    { everyMs: 200 },
  );

  const keyWords = ['--tenant', bootstrap.tenant_id];
  const keys = runProgram('bin/troupe.mjs', ['keys', 'list', ...keyWords], environment);
  t.is(await keys.ended, 0, keys.output());
  const keyId = /^(\S+) .* owner +active +root$/m.exec(keys.output())?.[1] ?? '';
  const revoke = runProgram('bin/troupe.mjs', ['keys', 'revoke', ...keyWords, keyId], environment);
  t.is(await revoke.ended, 0, revoke.output());
  await eventually(async () => {
    const refused = await fetch(`${bootstrap.base_url}/api/quota`, { headers: { 'x-api-key': ownerKey } });
    return refused.status === 401;
  });

  const short = runProgram('bin/troupe.mjs', ['keys', 'create', '--role', 'owner'], environment);
  t.is(await short.ended, 0, short.output());
  t.regex(short.output(), /svc_live_\w+/);
  const second = runProgram('bin/troupe.mjs', ['tenants', 'create', 'Second'], environment);
  t.is(await second.ended, 0, second.output());
  const unclear = runProgram('bin/troupe.mjs', ['keys', 'list'], environment);
  t.is(await unclear.ended, 2, unclear.output());
  t.regex(unclear.output(), /--tenant is missing, and there are 2/);

  const list = runProgram('bin/troupe.mjs', ['tenants', 'list'], environment);
  t.is(await list.ended, 0, list.output());
  t.true(list.output().includes(bootstrap.tenant_id));

  const doctor = runProgram('bin/troupe.mjs', ['doctor'], environment);
  t.is(await doctor.ended, 0, doctor.output());
  t.regex(doctor.output(), /ok +PostgreSQL: 18/);
});

test.serial(
  'serve refuses to start without its required settings, and lists all of them at once',
  async (t) => {
    const serve = runProgram('bin/troupe.mjs', ['serve'], { TROUPE_HTTP_PORT: 'many' });
    t.is(await serve.ended, 1);
    for (const name of [
      'DATABASE_URL is missing',
      'REDIS_URL is missing',
      'TROUPE_MASTER_KEY is missing',
      'TROUPE_HTTP_PORT must be',
    ]) {
      t.true(serve.output().includes(name), serve.output());
    }
    t.true(serve.output().includes('Example: TROUPE_HTTP_PORT=8080'));
  },
);

test.serial('no command that runs a node accepts a short operator token', async (t) => {
  const folder = await dataFolder(t);
  for (const command of ['start', 'serve']) {
    const program = runProgram('bin/troupe.mjs', [command], {
      TROUPE_DATA_DIR: folder,
      TROUPE_OPERATOR_TOKEN: 'planted-short-token',
      DATABASE_URL: 'postgresql://nobody:nothing@127.0.0.1:1/none',
      REDIS_URL: 'redis://127.0.0.1:1',
      TROUPE_MASTER_KEY: Buffer.alloc(32, 5).toString('base64'),
    });
    t.is(await program.ended, 1, program.output());
    t.regex(program.output(), /TROUPE_OPERATOR_TOKEN must have at least 32 characters, but has 19/);
    t.regex(program.output(), /openssl rand -hex 32/);
    t.false(program.output().includes('planted'));
  }
});

test.serial('serve reports which of its services are unreachable', async (t) => {
  const serve = runProgram('bin/troupe.mjs', ['serve'], {
    DATABASE_URL: 'postgresql://nobody:nothing@127.0.0.1:1/none',
    REDIS_URL: 'redis://127.0.0.1:1',
    TROUPE_MASTER_KEY: Buffer.alloc(32, 5).toString('base64'),
  });
  t.is(await serve.ended, 1);
  t.regex(serve.output(), /the server in DATABASE_URL cannot be used: .*ECONNREFUSED/);
  t.false(serve.output().includes('nothing@'));
});

test.serial('a file can provide a secret, and config never shows it', async (t) => {
  const folder = await dataFolder(t);
  const file = join(folder, 'operator-token');
  await writeFile(file, 'a-token-of-enough-letters-for-an-operator\n');
  const config = runProgram('bin/troupe.mjs', ['config'], {
    TROUPE_OPERATOR_TOKEN_FILE: file,
    TROUPE_MASTER_KEY: Buffer.alloc(32, 5).toString('base64'),
  });
  t.is(await config.ended, 0, config.output());
  t.true(config.output().includes('TROUPE_OPERATOR_TOKEN=(set)'));
  t.false(config.output().includes(Buffer.alloc(32, 5).toString('base64')));
});

test.serial(
  'a wrong command or argument exits with 2 and shows the usage, before anything is opened',
  async (t) => {
    const dataDir = join(await dataFolder(t), 'untouched');
    const key = ['keys', 'create', '--tenant', randomUUID(), '--name', 'x'];
    for (const words of [
      ['dance'],
      ['keys', 'create', '--tenant', 'x'],
      ['keys', '--frobnicate'],
      ['keys', 'list', '--tenant', 'x'],
      [...key, '--rpm', '1.5'],
      [...key, '--role', 'root'],
      ['tenants'],
      ['tenants', 'plan', 'x', 'free'],
      ['tenants', 'plan', randomUUID(), 'gold'],
      ['tenants', 'create', 'x', '--plan', 'gold'],
      ['vault', 'open'],
    ]) {
      const program = runProgram('bin/troupe.mjs', words, { TROUPE_DATA_DIR: dataDir });
      t.is(await program.ended, 2, program.output());
      t.regex(program.output(), /Usage:/);
      await t.throwsAsync(stat(dataDir), { code: 'ENOENT' });
    }
  },
);
