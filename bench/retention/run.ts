// Turns of one tenant while another one with many rows is swept and then deleted, compared with the same turns in calm
// times. The node has one core; the load and PostgreSQL share the other.
//
//   npm run bench:retention              0.1 of 2 million messages and 10 million calls
//   npm run bench:retention -- 1         all of them
//   npm run bench:retention -- 0.1 30    seconds of the calm part
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { startEmbeddedPostgres } from '../../src/infra/storage/index.js';
import { percentile } from '../support/load.js';
import { pinLoad, startServer } from '../support/servers.js';
import { operatorToken } from '../support/whole-node.js';
import { talk } from '../turns/clients.js';
import { makeLargeTenant } from './tenant.js';

const scale = Number(process.argv[2] ?? 0.1);
const calmSeconds = Number(process.argv[3] ?? 30);
/** Enough to wait for each other's rows, and far from what the node can do. */
const sessions = 8;
const windowSeconds = 5;
/** The node looks for due tenants once a minute, and removes deleted ones after half a minute. */
const startSecondsMax = 150;

pinLoad();
const directory = await mkdtemp(join(tmpdir(), 'troupe-bench-retention-'));
const postgres = await startEmbeddedPostgres({ directory: join(directory, 'postgres'), flush: true });
process.env['BENCH_DATABASE'] = postgres.connectionString;
const troupe = await startServer('Troupe', '../turns/troupe.server.js', import.meta.url);
const { key = '', agent = '' } = troupe.facts;
const client = new pg.Client({ connectionString: postgres.connectionString });
await client.connect();

const rows = { messages: Math.round(2_000_000 * scale), calls: Math.round(10_000_000 * scale) };
const filledAt = performance.now();
const large = await makeLargeTenant(client, rows);
console.log(
  `a tenant with ${rows.messages} messages and ${rows.calls} calls, written in ${secondsSince(filledAt)} s`,
);

const load = { port: troupe.port, key, agent, sessions };
await talk({ ...load, seconds: windowSeconds });
const calm = await measured(calmSeconds, () => Promise.resolve(false));
report('calm', calm);

await client.query(`update tenants set swept_at = now() - interval '2 hours' where id = $1`, [large.id]);
await until('the sweep begins', async () => {
  const { rows: claimed } = await client.query(
    `select from tenants where id = $1 and swept_at > now() - interval '1 hour'`,
    [large.id],
  );
  return claimed.length > 0;
});
const sweptAt = performance.now();
const swept = await measured(Number.POSITIVE_INFINITY, large.isSwept);
report(`swept in ${secondsSince(sweptAt)} s`, swept, calm);

await deleteTenant();
await until('the removal begins', async () => {
  const { rows: claimed } = await client.query(
    'select from tenants where id = $1 and removal_claimed_at is not null',
    [large.id],
  );
  return claimed.length > 0 || large.isGone();
});
const removedAt = performance.now();
const removed = await measured(Number.POSITIVE_INFINITY, large.isGone);
report(`removed in ${secondsSince(removedAt)} s`, removed, calm);

await client.end();
await troupe.stop();
await postgres.stop();
await rm(directory, { recursive: true, force: true });
process.exit(0);

/** Milliseconds of whole turns, sorted, for so many seconds or until it is over. */
async function measured(seconds: number, isOver: () => Promise<boolean>): Promise<Float64Array> {
  const all: number[] = [];
  const startedAt = performance.now();
  while (performance.now() - startedAt < seconds * 1_000) {
    const { wholeMs } = await talk({ ...load, seconds: windowSeconds });
    all.push(...wholeMs);
    if (await isOver()) break;
  }
  return Float64Array.from(all).sort();
}

function report(name: string, times: Float64Array, compared?: Float64Array): void {
  const p99 = percentile(times, 0.99);
  const ratio = compared === undefined ? '' : `, ${(p99 / percentile(compared, 0.99)).toFixed(2)} of calm`;
  console.log(
    `${name}: ${times.length} turns, p50 ${percentile(times, 0.5).toFixed(1)} ms, p99 ${p99.toFixed(1)} ms${ratio}`,
  );
}

async function deleteTenant(): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${troupe.port}/api/v1/operator/tenants/${large.id}`, {
    method: 'DELETE',
    headers: { authorization: `Bearer ${operatorToken}`, 'content-type': 'application/json' },
    body: JSON.stringify({ confirm: 'large' }),
  });
  if (!response.ok) throw new Error(`the deletion was refused: ${response.status} ${await response.text()}`);
}

async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  const startedAt = performance.now();
  while (!(await isSo())) {
    if (performance.now() - startedAt > startSecondsMax * 1_000)
      throw new Error(`waited in vain until ${what}`);
    await delay(200);
  }
}

function secondsSince(startedAt: number): string {
  return ((performance.now() - startedAt) / 1_000).toFixed(0);
}
