// What one call, one turn and one message of a webhook (with its turn and its callback) cost: CPU time of the node and of
// PostgreSQL, bytes of tables and of write-ahead log. The capacity page (docs/guides/plan-capacity.md) computes with them.
//
//   npm run bench:costs              8 seconds of each
//   npm run bench:costs -- 4
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { openReceiver, requestsTo } from '../fairness/requests.js';
import { load } from '../support/load.js';
import { record } from '../support/results.js';
import { pinLoad, startServer } from '../support/servers.js';
import { requestsOf } from '../webhooks/request.js';
import { talk } from '../turns/clients.js';

const seconds = Number(process.argv[2] ?? 8);
pinLoad();
const receiver = await openReceiver();
const server = await startServer('troupe', '../fairness/two-tenants.server.js', import.meta.url);
const { port, facts } = server;
const key = facts['calmKey'] ?? '';
const owner = new pg.Client({ connectionString: facts['database'] ?? '' });
await owner.connect();
// Otherwise its owner sees no rows either.
for (const table of ['trigger_inbox', 'deliveries'])
  await owner.query(`alter table ${table} no force row level security`);

const works: readonly (readonly [name: string, run: (duration: number) => Promise<number>])[] = [
  [
    'call',
    async (duration) => {
      const request = requestsTo(server, 'calm', 'calls')(0);
      return (await load({ port, request, connections: 16, seconds: duration, expectedStatus: 200 }))
        .requests;
    },
  ],
  [
    'turn',
    async (duration) =>
      (await talk({ port, key, agent: facts['calmAgent'] ?? '', sessions: 16, seconds: duration })).turns,
  ],
  [
    'webhook',
    async (duration) => {
      const request = requestsOf(facts['calmPath'] ?? '', facts['calmSecret'] ?? '', 0, 64);
      const { requests } = await load({
        port,
        request,
        connections: 4,
        seconds: duration,
        expectedStatus: 202,
      });
      await untilQuiet();
      return requests;
    },
  ],
];
console.log(`\n${seconds} s of each; the platform with its database on one core`);
for (const [name, run] of works) {
  await run(Math.max(2, seconds / 2));
  const before = await reading();
  const count = await run(seconds);
  await untilQuiet();
  const after = await reading();
  const each = (of: (one: Reading) => number): number => (of(after) - of(before)) / count;
  const found = {
    node: each(({ node }) => node) * 1e3,
    database: each(({ database }) => database) * 1e3,
    stored: each(({ stored }) => stored) / 1e3,
    log: each(({ log }) => log) / 1e3,
  };
  console.log(
    `  ${name.padEnd(8)} ${found.node.toFixed(2)} ms of the node, ${found.database.toFixed(2)} ms of PostgreSQL, ` +
      `${found.stored.toFixed(1)} KB stored, ${found.log.toFixed(1)} KB of log (${count} of them)`,
  );
  const shared = { bench: 'costs', better: 'less' as const };
  record({ ...shared, what: `a ${name}: the node`, unit: 'ms of CPU', ours: [found.node] });
  record({ ...shared, what: `a ${name}: PostgreSQL`, unit: 'ms of CPU', ours: [found.database] });
  record({ ...shared, what: `a ${name}: tables and indexes`, unit: 'KB', ours: [found.stored] });
  record({ ...shared, what: `a ${name}: write-ahead log`, unit: 'KB', ours: [found.log] });
}
await owner.end();
await server.stop();
receiver.close();
process.exit(0);

interface Reading {
  /** CPU seconds. */
  readonly node: number;
  readonly database: number;
  /** Bytes. */
  readonly stored: number;
  readonly log: number;
}

async function reading(): Promise<Reading> {
  const { rows } = await owner.query<{ stored: string; log: string }>(
    `select sum(pg_total_relation_size(oid))::text as stored, pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::text as log
       from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace`,
  );
  return {
    node: await server.cpuSeconds(),
    database: server.cpuSecondsBelow(),
    stored: Number(rows[0]?.stored),
    log: Number(rows[0]?.log),
  };
}

/** Until no message waits for its turn or its callback. */
async function untilQuiet(): Promise<void> {
  for (;;) {
    const { rows } = await owner.query<{ waiting: string }>(
      `select (select count(*) from trigger_inbox where state <> 'done')
            + (select count(*) from deliveries where status = 'pending') as waiting`,
    );
    if (Number(rows[0]?.waiting) === 0) return;
    await sleep(500);
  }
}
