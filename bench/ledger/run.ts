// PostgreSQL's CPU time for a batch of the ledger, which opens as many attempts as it closes, by the number of calls in
// it; beside it the same parameters as one row of one table, which no statement can undercut; then the two statements of
// a call that is alone. On a busy machine the fastest quarter of many short rounds says more than their median. Linux
// only: the time of the one connection is read from /proc.
//
//   npm run bench:ledger            calls per batch 1, 10 and 20, 24 rounds
//   npm run bench:ledger -- 50 5,40
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import pg from 'pg';
import type { ClosedRow, OpenedRow } from '../../src/models/usage/index.js';
import { type ClosingRow, ledgerTarget } from '../../src/models/usage/usage.store.js';
import { startDatabase } from '../support/database.js';

type Row = OpenedRow | ClosingRow;

const rounds = Number(process.argv[2] ?? 24);
const sizes = (process.argv[3] ?? '1,10,20').split(',').map(Number);
const tenantId = randomUUID();

const database = await startDatabase();
const owner = new pg.Client({ connectionString: database.url });
await owner.connect();
await owner.query(`alter table tenants no force row level security`);
await owner.query(`insert into tenants (id, name) values ($1, 'bench')`, [tenantId]);
await owner.query(`create table floor (n bigint generated always as identity primary key, given text[] not null);
  grant insert on floor to troupe_writer`);
// As the node's writers connect.
const options = '-c role=troupe_writer -c plan_cache_mode=force_generic_plan -c enable_seqscan=off';
const writer = new pg.Client({ connectionString: database.url, options });
await writer.connect();
const { rows: found } = await writer.query<{ pid: number }>('select pg_backend_pid() as pid');

const ledger = async (rows: readonly Row[]): Promise<void> => {
  const { name, text } = ledgerTarget;
  const { rows: missing } = await writer.query({ name, text, values: ledgerTarget.values(rows) });
  if (missing.length > 0) throw new Error(`${missing.length} closings found no open row`);
};
const alone = async (row: Row): Promise<void> => {
  const statement = ledgerTarget.shorter?.([row]);
  if (statement === undefined) throw new Error('a row alone has a statement of its own');
  const { rows: missing } = await writer.query(statement);
  if (missing.length > 0) throw new Error('the closing found no open row');
};
const floor = async (rows: readonly Row[]): Promise<void> => {
  const text = 'insert into floor (given) values ($1)';
  await writer.query({ name: 'floor', text, values: [ledgerTarget.values(rows).map(String)] });
};

const warm = 300;
for (let at = 0; at < warm; at += 1) await batches(ledger, 20, 1);
for (let at = 0; at < warm; at += 1) await callsAlone(1);
const aloneRounds: Alone[] = [];
const measured = new Map(sizes.map((size) => [size, { ledger: [] as number[], floor: [] as number[] }]));
for (let round = 0; round < rounds; round += 1) {
  for (const [size, figures] of measured) {
    figures.ledger.push(await batches(ledger, size, 20));
    figures.floor.push(await batches(floor, size, 20));
  }
  aloneRounds.push(await callsAlone(40));
}
console.log(`PostgreSQL, µs for each batch: fastest quarter of ${rounds} rounds (median)`);
for (const [size, figures] of measured) {
  const [whole, row] = [spread(figures.ledger), spread(figures.floor)];
  const ratio = (row.quarter / whole.quarter).toFixed(2);
  console.log(
    `  ${size} calls: ledger ${whole.text}, ${(whole.quarter / size).toFixed(0)} for each call; ` +
      `one row ${row.text}; one row / ledger ${ratio}`,
  );
}
const openings = spread(aloneRounds.map(({ opening }) => opening));
const closings = spread(aloneRounds.map(({ closing: each }) => each));
console.log(`  a call alone: opening ${openings.text}, closing ${closings.text}`);
await writer.end();
await owner.end();
await database.stop();

/** Microseconds of one batch, on average. Each batch closes what the one before opened. */
async function batches(
  write: (rows: readonly Row[]) => Promise<void>,
  size: number,
  count: number,
): Promise<number> {
  let open = Array.from({ length: size }, opened);
  await write(open);
  const before = cpuMicros();
  for (let at = 0; at < count; at += 1) {
    const next = Array.from({ length: size }, opened);
    await write([...next, ...open.map(closing)]);
    open = next;
  }
  return (cpuMicros() - before) / count;
}

interface Alone {
  readonly opening: number;
  readonly closing: number;
}

/** Microseconds of the two statements, on average. */
async function callsAlone(count: number): Promise<Alone> {
  const rows = Array.from({ length: count }, opened);
  const before = cpuMicros();
  for (const row of rows) await alone(row);
  const between = cpuMicros();
  for (const row of rows) await alone(closing(row));
  return { opening: (between - before) / count, closing: (cpuMicros() - between) / count };
}

function cpuMicros(): number {
  const [nanoseconds = ''] = readFileSync(`/proc/${found[0]?.pid ?? 0}/schedstat`, 'utf8').split(' ');
  return Number(nanoseconds) / 1_000;
}

function spread(values: readonly number[]): { readonly quarter: number; readonly text: string } {
  const sorted = values.toSorted((one, other) => one - other);
  const at = (share: number): number => sorted[Math.floor(sorted.length * share)] ?? Number.NaN;
  return { quarter: at(0.25), text: `${at(0.25).toFixed(0)} (${at(0.5).toFixed(0)})` };
}

function opened(): OpenedRow {
  const now = new Date();
  return {
    tenant_id: tenantId,
    attempt_id: randomUUID(),
    call_id: randomUUID(),
    attempt_number: 1,
    source: 'direct',
    key_id: tenantId,
    user_id: tenantId,
    agent_id: null,
    session_id: null,
    execution_id: null,
    process_id: 'bench',
    vendor: 'openai',
    model: 'gpt-4.1-mini',
    payer: 'platform',
    month: `${now.toISOString().slice(0, 7)}-01`,
    opened_at: now.toISOString(),
    deadline_at: new Date(now.getTime() + 180_000).toISOString(),
    input_estimate: 12,
    output_estimate: 1_000,
    cost_estimate: 0.0016,
  };
}

function closing({ tenant_id, attempt_id, opened_at }: OpenedRow): ClosingRow {
  const result: Omit<ClosedRow, 'tenant_id' | 'attempt_id' | 'opened_at'> = {
    outcome: 'completed',
    closed_at: new Date().toISOString(),
    input_tokens: 20,
    cache_read_tokens: 0,
    cache_write_tokens: 0,
    output_tokens: 50,
    reasoning_tokens: 0,
    cost: 0.000088,
    usage_source: 'reported',
    stop_reason: 'end',
    failure: null,
    vendor_request_id: null,
    first_signal_ms: null,
    duration_ms: 3.4,
  };
  const recorded = { response_time_ms: 7, input_preview: 'Say hello.', output_preview: 'Hello.' };
  return { tenant_id, attempt_id, opened_at, ...result, ...recorded };
}
