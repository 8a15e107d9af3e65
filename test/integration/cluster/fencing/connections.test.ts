import { Socket } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import pg from 'pg';
import { Connections, type ConnectionsOptions } from '../../../../cluster/fencing/postgres/connections.js';
import { isRefusal } from '../../../../cluster/fencing/postgres/failures.js';
import { systemTime } from '../../../../cluster/time/system.js';
import { clientConfig } from '../../../../src/infra/storage/connection.js';
import { eventually } from '../../../support/clocks/eventually.js';
import { databaseConnectMs, databaseOfFile } from '../../../support/database/database.js';
import { inCzech } from '../../../support/database/translated.js';
import { TcpProxy } from '../../../support/servers/tcp-proxy.js';

const database = databaseOfFile(test);

function open(t: ExecutionContext, options: Partial<ConnectionsOptions> = {}): Connections {
  const connections = new Connections({
    databaseUrl: database.url,
    connectionsMax: 2,
    statementTimeoutMs: 60_000,
    connectTimeoutMs: databaseConnectMs,
    time: systemTime,
    ...options,
  });
  t.teardown(() => connections.close());
  return connections;
}

const pidOf = async (client: pg.Client): Promise<number | undefined> =>
  (await client.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]?.pid;

test('a connection that nobody used for a minute is closed, and those in use stay', async (t) => {
  const watcher = new pg.Client({ connectionString: database.url });
  await watcher.connect();
  t.teardown(() => watcher.end());
  const areOpen = async (pids: readonly (number | undefined)[]): Promise<boolean> =>
    (await watcher.query('select from pg_stat_activity where pid = any ($1)', [pids])).rowCount ===
    pids.length;
  let nowMs = 0;
  const connections = open(t, { time: { ...systemTime, monotonicMs: () => nowMs } });
  // The second use begins while the first has its connection.
  const [first, second] = await connections.use(async (client) => [
    await connections.use(pidOf),
    await pidOf(client),
  ]);
  nowMs += 40_000;
  t.is(await connections.use(pidOf), second, 'the one used last');
  t.true(await areOpen([first, second]));
  nowMs += 40_000;
  t.is(await connections.use(pidOf), second);
  await eventually(async () => !(await areOpen([first])), { what: 'the unused connection is closed' });
  nowMs += 60_001;
  t.not(await connections.use(pidOf), second);
  await eventually(async () => !(await areOpen([second])), { what: 'the other is closed as well' });
});

test.serial('a silent connection is probed before firewalls forget it', async (t) => {
  const delays: unknown[] = [];
  const { setKeepAlive } = Socket.prototype;
  Socket.prototype.setKeepAlive = function record(this: Socket, isOn, delayMs) {
    if (isOn === true) delays.push(delayMs);
    return setKeepAlive.call(this, isOn, delayMs);
  };
  t.teardown(() => void (Socket.prototype.setKeepAlive = setKeepAlive));
  await open(t).use(pidOf);
  const client = new pg.Client(
    clientConfig({ databaseUrl: database.url, role: 'troupe_app', statementTimeoutMs: 60_000 }),
  );
  await client.connect();
  await client.end();
  t.deepEqual(delays, [30_000, 30_000]);
});

test('options in the address are kept beside the role and the settings of the planner', async (t) => {
  const url = new URL(database.url);
  url.searchParams.set('options', '-c work_mem=8MB -c enable_seqscan=on');
  const connections = open(t, { databaseUrl: url.href, role: 'troupe_writer' });
  const { rows } = await connections.use((client) =>
    client.query(`select current_user as role, current_setting('work_mem') as given,
      current_setting('enable_seqscan') as seqscan, current_setting('plan_cache_mode') as plans`),
  );
  t.deepEqual(rows, [{ role: 'troupe_writer', given: '8MB', seqscan: 'off', plans: 'force_generic_plan' }]);
});

test('a connection whose role a pooler dropped is refused', async (t) => {
  const pooler = await TcpProxy.before(database.url);
  t.teardown(() => pooler.close());
  let isDropping = true;
  pooler.alter = (question) =>
    isDropping
      ? Buffer.from(question.toString('latin1').replace('role=troupe_writer', 'work_mem=1234567kB'), 'latin1')
      : question;
  const connections = open(t, { databaseUrl: pooler.url, role: 'troupe_writer' });
  await t.throwsAsync(connections.use(pidOf), {
    message: /store_unavailable: PostgreSQL: connected as .+ instead of troupe_writer: .+pooler/,
  });
  isDropping = false;
  t.is(typeof (await connections.use(pidOf)), 'number');
});

/** A database behind a server that answers as `alter` says. */
async function altering(t: ExecutionContext, alter: (answer: Buffer) => Buffer): Promise<string> {
  const server = await TcpProxy.before(database.url);
  t.teardown(() => server.close());
  server.alterAnswer = alter;
  return server.url;
}

test('a connection stays after a statement that a server refuses in Czech', async (t) => {
  const connections = open(t, { databaseUrl: await altering(t, inCzech) });
  const pid = await connections.use(pidOf);
  await t.throwsAsync(
    connections.use((client) => client.query('select 1 / 0')),
    { code: '22012' },
  );
  t.is(await connections.use(pidOf), pid);
});

test('an error that ends the connection is no refusal of the statement, whatever its words and its code', async (t) => {
  // An internal error may end a connection; a test can only ask for the end by an operator.
  const fatal = (answer: Buffer): Buffer =>
    Buffer.from(inCzech(answer).toString('latin1').replace('C57P01\0', 'CXX000\0'), 'latin1');
  const connections = open(t, { databaseUrl: await altering(t, fatal) });
  const error = await t.throwsAsync(
    connections.use((client) => client.query('select pg_terminate_backend(pg_backend_pid())')),
    { message: 'PostgreSQL ended the connection' },
  );
  t.like(error?.cause, { code: 'XX000', severity: 'CHYBA' });
  t.false(isRefusal(error));
  t.is(typeof (await connections.use(pidOf)), 'number');
});
