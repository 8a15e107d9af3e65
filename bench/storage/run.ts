// Compares the store's own read and write paths with plain pg, on a PostgreSQL with the platform's settings (flushing
// on): `npm run bench:storage`. One process runs all clients, so its CPU time per operation is that of a node; ratios
// are computed pair by pair within a round.
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { z } from 'zod';
import { systemRandom, systemTime } from '../../cluster/index.js';
import { tenantScope } from '../../src/kernel/tenant-scope.js';
import {
  insertTarget,
  migrate,
  openBatchWriters,
  openHotReads,
  openStore,
  sql,
  startEmbeddedPostgres,
} from '../../src/infra/storage/index.js';
import { percentile } from '../support/load.js';
import { record } from '../support/results.js';
import { median } from '../support/servers.js';

interface Variant {
  readonly name: string;
  readonly work: () => Promise<unknown>;
}

interface Figure {
  readonly perSecond: number;
  readonly cpuMicros: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

const rounds = Number(process.argv[2] ?? 3);
const seconds = Number(process.argv[3] ?? 2);

const directory = await mkdtemp(join(tmpdir(), 'troupe-bench-storage-'));
const postgres = await startEmbeddedPostgres({ directory, flush: false });
const databaseUrl = postgres.connectionString;
await migrate({ databaseUrl });
const owner = new pg.Pool({ connectionString: databaseUrl, max: 32 });
const tenant = randomUUID();
const scope = tenantScope(tenant);
await prepare();

const store = await openStore({ databaseUrl, connectionsMax: 16, waitingMax: 1_000 });
const hot = openHotReads({ databaseUrl, time: systemTime });
const writers = openBatchWriters({ databaseUrl, time: systemTime, random: systemRandom });

await readsAtOnce(32);
for (const callers of [1, 64, 256]) await writesAtOnce(callers);

// The pool's end does not wait until its connections are closed, so the server's stop can reach some of them.
owner.on('error', () => undefined);
await Promise.all([store.close(), hot.close(), writers.close(), owner.end()]);
await postgres.stop();
await rm(directory, { recursive: true, force: true });

async function prepare(): Promise<void> {
  await owner.query(`
    create table facts (tenant_id uuid, id uuid, hash text, role text, primary key (tenant_id, id));
    create table events (tenant_id uuid, id uuid, kind text, body jsonb, at timestamptz, primary key (tenant_id, id));
    alter table facts enable row level security;
    alter table events enable row level security;
    grant select on facts to troupe_app;
    grant select, insert on events to troupe_writer;
    create policy tenant on facts to troupe_app using (tenant_id = current_tenant());
    create policy writer on events to troupe_writer using (true) with check (true)`);
  await owner.query(
    `insert into facts select $1, gen_random_uuid(), md5(n::text), 'admin' from generate_series(1, 10000) n`,
    [tenant],
  );
  await owner.query('analyze facts');
}

async function readsAtOnce(callers: number): Promise<void> {
  const { rows } = await owner.query<{ id: string }>('select id from facts limit 1000');
  const ids = rows.map(({ id }) => id);
  let next = 0;
  const anyId = (): string => ids[(next += 1) % ids.length] ?? '';
  const row = z.object({ hash: z.string(), role: z.string() });
  const text = 'select hash, role from facts where tenant_id = $1 and id = $2';
  await compare(`reads of one row of a tenant, ${callers} at once`, callers, [
    { name: 'hot read', work: () => hot.inTenant(scope, { name: 'fact', text, row }, [tenant, anyId()]) },
    {
      name: 'store transaction (slonik)',
      work: () => {
        const id = anyId();
        return store.inTenant(scope, (tx) =>
          tx.one(sql.type(row)`select hash, role from facts where tenant_id = ${tenant} and id = ${id}`),
        );
      },
    },
    { name: 'pg, no tenant, no check', work: () => owner.query(text, [tenant, anyId()]) },
  ]);
}

async function writesAtOnce(callers: number): Promise<void> {
  const event = () => ({ tenant_id: tenant, id: randomUUID(), kind: 'turn', body: { n: 1 }, at: new Date() });
  const writer = writers.writer(
    insertTarget<ReturnType<typeof event>>({
      table: 'events',
      columns: { tenant_id: 'uuid', id: 'uuid', kind: 'text', body: 'jsonb', at: 'timestamptz' },
      key: ['tenant_id', 'id'],
    }),
  );
  await compare(`durable rows, ${callers} callers`, callers, [
    { name: 'batching writer', work: () => writer.write(event()) },
    {
      name: 'one insert each (pg, named)',
      work: () => {
        const { tenant_id: tenantId, id, kind, body, at } = event();
        const values = [tenantId, id, kind, JSON.stringify(body), at];
        return owner.query({ name: 'one', text: 'insert into events values ($1, $2, $3, $4, $5)', values });
      },
    },
  ]);
}

/** The first variant is the platform's; it is compared with each of the others. */
async function compare(title: string, callers: number, ways: readonly Variant[]): Promise<void> {
  const figures = ways.map((): Figure[] => []);
  for (let round = -1; round < rounds; round += 1) {
    for (const [index, way] of ways.entries()) {
      const figure = await measure(way, callers, round < 0 ? 0.5 : seconds);
      if (round >= 0) figures[index]?.push(figure);
    }
  }
  console.log(`\n${title} (${rounds} rounds of ${seconds} s, medians)`);
  for (const [index, way] of ways.entries()) {
    const own = figures[index] ?? [];
    const latency = (of: readonly Figure[]) => ({
      p50Ms: median(of.map(({ p50Ms }) => p50Ms)),
      p99Ms: median(of.map(({ p99Ms }) => p99Ms)),
    });
    if (index > 0) {
      record({
        bench: 'storage',
        what: `${title}: ${ways[0]?.name ?? ''}`,
        unit: 'per second',
        ours: (figures[0] ?? []).map(({ perSecond }) => perSecond),
        against: way.name,
        theirs: own.map(({ perSecond }) => perSecond),
        better: 'more',
        ourLatency: latency(figures[0] ?? []),
        theirLatency: latency(own),
      });
    }
    const ratio = median(
      own.map(({ perSecond }, round) => (figures[0]?.[round]?.perSecond ?? Number.NaN) / perSecond),
    );
    console.log(
      `  ${way.name.padEnd(28)} ${median(own.map(({ perSecond }) => perSecond)).toFixed(0)} per s, ` +
        `${median(own.map(({ cpuMicros }) => cpuMicros)).toFixed(0)} us of CPU each, ` +
        `p50 ${median(own.map(({ p50Ms }) => p50Ms)).toFixed(2)} ms, p99 ${median(own.map(({ p99Ms }) => p99Ms)).toFixed(2)} ms` +
        (index === 0 ? '' : `; the first variant is ${ratio.toFixed(1)} times as fast`),
    );
  }
}

async function measure({ work }: Variant, callers: number, duration: number): Promise<Figure> {
  const endsAt = performance.now() + duration * 1_000;
  const latencies: number[] = [];
  const cpu = process.cpuUsage();
  const startedAt = performance.now();
  const caller = async (): Promise<void> => {
    while (performance.now() < endsAt) {
      const sentAt = performance.now();
      await work();
      latencies.push(performance.now() - sentAt);
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  const elapsedSeconds = (performance.now() - startedAt) / 1_000;
  const { user, system } = process.cpuUsage(cpu);
  const sorted = Float64Array.from(latencies).sort();
  return {
    perSecond: latencies.length / elapsedSeconds,
    cpuMicros: (user + system) / latencies.length,
    p50Ms: percentile(sorted, 0.5),
    p99Ms: percentile(sorted, 0.99),
  };
}
