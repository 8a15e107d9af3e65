// The sums of days equal those of their hours: whatever arrives, late ones too, and however many nodes sum at once.
import { randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import fc from 'fast-check';
import { systemRandom, systemTime } from '../../../../cluster/index.js';
import { openBatchWriters, openStore, type TenantTransaction } from '../../../../src/infra/storage/index.js';
import type { TenantScope } from '../../../../src/kernel/tenant-scope.js';
import { partsOf } from '../../../../src/models/telemetry/index.js';
import {
  readChosenHours,
  readDays,
  readHours,
  readShares,
} from '../../../../src/models/telemetry/totals.store.js';
import { Ledger, ledgerRows, sumDays, usageTotals } from '../../../../src/models/usage/index.js';
import { insertTenant } from '../../../support/builders/callers.js';
import { logTo } from '../../../support/builders/platform.js';
import { eventually } from '../../../support/clocks/eventually.js';
import { databaseOfFile } from '../../../support/database/database.js';
import { ownerView } from '../../../support/database/owner-view.js';
import { call, closed, opened } from '../../../support/database/usage-rows.js';

const database = databaseOfFile(test);
const startMs = Date.parse('2025-03-29T22:30:00Z');
const spanMs = 6 * 86_400_000;
const agents = [null, randomUUID()];

const moment = fc.integer({ min: 0, max: spanMs });
const made = fc.record({
  at: moment,
  agent: fc.constantFrom(...agents),
  model: fc.constantFrom('sim.echo', 'openai.gpt-5'),
  payer: fc.constantFrom('platform' as const, 'tenant' as const),
  nano: fc.integer({ min: 0, max: 2_000_000_001 }),
  kind: fc.constantFrom('answered', 'failed', 'cached'),
});
type Made = typeof made extends fc.Arbitrary<infer T> ? T : never;

async function parts(t: ExecutionContext) {
  const store = await openStore({ databaseUrl: database.url });
  const writers = openBatchWriters({ databaseUrl: database.url, time: systemTime, random: systemRandom });
  const owner = await ownerView(database.url);
  const ledger = new Ledger({
    writers,
    rows: ledgerRows(store),
    time: systemTime,
    log: logTo((attempted, error) => t.fail(`${attempted}: ${String(error)}`)),
  });
  t.teardown(async () => {
    await writers.close();
    await owner.end();
    await store.close();
  });

  async function write(tenantId: string, { at, agent, model, payer, nano, kind }: Made): Promise<void> {
    const moment = new Date(startMs + at).toISOString();
    const cost = nano / 1e9;
    const recorded = { response_time_ms: at % 9_000, input_preview: '', output_preview: '' };
    if (kind === 'cached') {
      await ledger.record(
        call(tenantId, { started_at: moment, agent_id: agent ?? null, model, cost, from_cache: true }),
      );
      return;
    }
    const row = opened(tenantId, { opened_at: moment, agent_id: agent ?? null, model, payer });
    await ledger.open(row);
    await ledger.close(
      closed(row, { cost, outcome: kind === 'failed' ? 'failed' : 'completed' }),
      kind === 'failed' ? undefined : recorded,
      row,
    );
  }

  const sumAll = async (scope: TenantScope): Promise<void> => {
    while ((await store.inTenant(scope, (tx) => sumDays(tx, 2))) > 0);
  };

  /** What the sums of days and those of the hours before `summed_to` do not share. */
  async function differences(tenantId: string): Promise<readonly unknown[]> {
    const hours = `from call_hours join summed_days using (tenant_id) where tenant_id = $1 and hour < summed_to`;
    const day = `date_trunc('day', hour, 'UTC')`;
    const pairs = [
      [
        `select day, agent_id, model, status, failure, calls, cost, latency, response_time_ms, cache_hits from call_days
         where tenant_id = $1`,
        `select ${day}, agent_id, model, status, failure, sum(calls), sum(cost), sum(latency), sum(response_time_ms),
           sum(cache_hits) ${hours} and calls > 0 group by 1, 2, 3, 4, 5`,
      ],
      [
        `select day, agent_id, model, payer, calls, input_tokens, cost from ledger_days where tenant_id = $1`,
        `select ${day}, agent_id, model, payer, sum(ledger_calls), sum(ledger_input_tokens), sum(ledger_cost) ${hours}
         and payer <> 'none' group by 1, 2, 3, 4`,
      ],
      [
        `select hour, calls, tokens, cost from hour_totals where tenant_id = $1`,
        `select hour, sum(calls), sum(input_tokens + output_tokens), sum(cost) ${hours} and calls > 0 group by 1`,
      ],
    ] as const;
    const found: unknown[] = [];
    for (const [one, other] of pairs) {
      const { rows } = await owner.query(
        `((${one}) except (${other})) union all ((${other}) except (${one}))`,
        [tenantId],
      );
      found.push(...rows);
    }
    return found;
  }
  return { store, owner, write, sumAll, differences };
}

const sorted = (rows: readonly object[]): readonly string[] =>
  rows
    .map((row) => JSON.stringify(row, (_, value) => (typeof value === 'bigint' ? String(value) : value)))
    .toSorted();

async function reports(tx: TenantTransaction, range: { from: Date; to: Date }) {
  const { scope } = tx;
  return {
    shares: sorted(await readShares(tx, range)),
    ofModel: sorted(await readShares(tx, range, { model: 'sim.echo', status: 'success' })),
    hours: sorted(await readHours(tx, range)),
    chosen: sorted(await readChosenHours(tx, range, { agentId: agents[1] ?? undefined })),
    days: sorted(await readDays(tx, range)),
    usage: await usageTotals(scope, tx, { ...range, ...partsOf(range) }, 'model'),
    byDay: await usageTotals(scope, tx, { ...range, ...partsOf(range) }, 'day'),
  };
}

test('every report is the same before and after its days are summed', async (t) => {
  t.timeout(240_000);
  const { store, write, sumAll, differences } = await parts(t);
  await fc.assert(
    fc.asyncProperty(
      fc.array(made, { minLength: 1, maxLength: 30 }),
      fc.array(made, { maxLength: 10 }),
      fc.array(fc.tuple(moment, moment), { minLength: 2, maxLength: 4 }),
      async (first, late, bounds) => {
        const scope = await insertTenant(store);
        const ranges = [...bounds, [-86_400_000, spanMs + 86_400_000] as const].map(([a, b]) => ({
          from: new Date(startMs + Math.min(a, b)),
          to: new Date(startMs + Math.max(a, b) + 1),
        }));
        const read = () =>
          store.inTenant(scope, async (tx) => {
            const all = [];
            for (const range of ranges) all.push(await reports(tx, range));
            return all;
          });
        await Promise.all(first.map((each) => write(scope.tenantId, each)));
        const before = await read();
        await Promise.all([sumAll(scope), sumAll(scope)]);
        t.deepEqual(await read(), before);
        await Promise.all(late.map((each) => write(scope.tenantId, each)));
        t.deepEqual(await differences(scope.tenantId), []);
      },
    ),
    { numRuns: 8 },
  );
});

test('calls that arrive while two nodes sum their days are counted once', async (t) => {
  const { store, owner, write, sumAll, differences } = await parts(t);
  const scope = await insertTenant(store);
  const some = fc.sample(made, { numRuns: 300, seed: 7 });
  await Promise.all([...some.map((each) => write(scope.tenantId, each)), sumAll(scope), sumAll(scope)]);
  await sumAll(scope);
  t.deepEqual(await differences(scope.tenantId), []);
  const { rows } = await owner.query(
    `select (select sum(calls)::int from call_days where tenant_id = $1) as calls,
       (select sum(cost) from ledger_days where tenant_id = $1) as cost,
       (select sum(cost::numeric) from usage_rows where tenant_id = $1) as spent`,
    [scope.tenantId],
  );
  t.is(rows[0].calls, some.length - some.filter(({ kind }) => kind === 'failed').length);
  t.is(rows[0].cost, rows[0].spent);
});

test('a sum waits for a late hour that is not committed yet', async (t) => {
  const { store, owner, sumAll, differences, write } = await parts(t);
  const scope = await insertTenant(store);
  await write(scope.tenantId, {
    at: 0,
    agent: null,
    model: 'sim.echo',
    payer: 'tenant',
    nano: 1,
    kind: 'answered',
  });
  const other = await ownerView(database.url);
  t.teardown(() => other.end());
  await other.query('begin');
  await other.query(
    `insert into call_hours select tenant_id, hour, agent_id, key_id, user_id, provider, 'late', call_source, payer,
       status, failure, calls, vendor_calls, input_tokens, output_tokens, cost, response_time_ms, latency, cache_hits,
       cached_tokens, cache_creation_tokens, fallbacks, ledger_calls, ledger_input_tokens, ledger_output_tokens,
       ledger_cost from call_hours where tenant_id = $1`,
    [scope.tenantId],
  );
  let isSummed = false;
  const sum = sumAll(scope).then(() => (isSummed = true));
  await eventually(async () => {
    const { rows } = await owner.query(
      `select from pg_stat_activity where wait_event_type = 'Lock' and query like '%sum_call_days%'`,
    );
    return rows.length > 0;
  });
  t.false(isSummed);
  await other.query('commit');
  await sum;
  t.deepEqual(await differences(scope.tenantId), []);
  const { rows } = await owner.query('select sum(calls)::int as calls from call_days where tenant_id = $1', [
    scope.tenantId,
  ]);
  t.is(rows[0].calls, 2);
});
