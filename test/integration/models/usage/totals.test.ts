// Usage of any range in any grouping equals the ledger: random attempts, closed at random, in random ranges.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import fc from 'fast-check';
import { logTo } from '../../../support/builders/platform.js';
import { systemRandom, systemTime } from '../../../../cluster/index.js';
import { openBatchWriters, openStore } from '../../../../src/infra/storage/index.js';
import { partsOf } from '../../../../src/models/telemetry/index.js';
import {
  Ledger,
  ledgerRows,
  type OpenedRow,
  usageGroups,
  usageTotals,
} from '../../../../src/models/usage/index.js';
import { insertTenant } from '../../../support/builders/callers.js';
import { databaseOfFile } from '../../../support/database/database.js';
import { closed, opened } from '../../../support/database/usage-rows.js';

const database = databaseOfFile(test);
const startMs = Date.parse('2026-11-29T21:00:00Z');
const spanMs = 6 * 3_600_000;
const owners = [null, '11111111-1111-4111-8111-111111111111', '22222222-2222-4222-8222-222222222222'];

const moment = fc.oneof(
  fc.integer({ min: 0, max: spanMs }),
  // The bounds of hours, and the milliseconds beside them.
  fc
    .tuple(fc.integer({ min: 0, max: 6 }), fc.constantFrom(-1, 0, 1))
    .map(([hour, ms]) => hour * 3_600_000 + ms),
);
const attempt = fc.record({
  at: moment,
  agent: fc.constantFrom(...owners),
  key: fc.constantFrom(...owners),
  user: fc.constantFrom(...owners),
  model: fc.constantFrom('sim.echo', 'openai.gpt-5', 'google.g'),
  source: fc.constantFrom('direct', 'agent'),
  payer: fc.constantFrom('platform' as const, 'tenant' as const),
  attempts: fc.integer({ min: 1, max: 3 }),
  // Billionths of a dollar: sums of these as doubles depend on their order.
  cost: fc.integer({ min: 0, max: 2_000_000_001 }),
  tokens: fc.integer({ min: 0, max: 100_000 }),
  end: fc.constantFrom('recorded', 'completed', 'failed', 'orphaned', 'open'),
});
type Attempt = typeof attempt extends fc.Arbitrary<infer T> ? T : never;

interface Ended {
  readonly row: OpenedRow;
  readonly nano: bigint;
  readonly input: number;
  readonly output: number;
}

test('the sums of each grouping and range are those of the ledger, to a billionth of a dollar', async (t) => {
  t.timeout(240_000);
  const store = await openStore({ databaseUrl: database.url });
  const writers = openBatchWriters({ databaseUrl: database.url, time: systemTime, random: systemRandom });
  const ledger = new Ledger({
    writers,
    rows: ledgerRows(store),
    time: systemTime,
    log: logTo((attempted, error) => t.fail(`${attempted}: ${String(error)}`)),
  });
  t.teardown(async () => {
    await writers.close();
    await store.close();
  });

  /** Writes the attempts of one call, of which the last ends as said, and returns those that are closed. */
  async function write(tenantId: string, made: Attempt): Promise<readonly Ended[]> {
    const callId = randomUUID();
    const all: Ended[] = [];
    for (let number = 1; number <= made.attempts; number += 1) {
      const end = number < made.attempts ? 'failed' : made.end;
      const [input, output] = [made.tokens + number, number];
      const isOrphan = end === 'orphaned';
      const row = opened(tenantId, {
        call_id: callId,
        attempt_number: number,
        agent_id: made.agent ?? null,
        key_id: made.key ?? null,
        user_id: made.user ?? null,
        vendor: made.model.split('.')[0] ?? '',
        model: made.model,
        source: made.source,
        payer: made.payer,
        opened_at: new Date(startMs + made.at + number - 1).toISOString(),
        ...(isOrphan ? { deadline_at: '2026-11-01T00:00:00Z' } : {}),
        input_estimate: input,
        output_estimate: output,
        cost_estimate: made.cost / 1e9,
      });
      await ledger.open(row);
      if (end === 'open') return all;
      all.push({ row, nano: BigInt(made.cost), input, output });
      if (isOrphan) return all;
      const ended = closed(row, {
        outcome: end === 'failed' ? 'failed' : 'completed',
        cost: made.cost / 1e9,
        input_tokens: input,
        output_tokens: output,
      });
      const recorded = { response_time_ms: made.tokens / 7, input_preview: '', output_preview: '' };
      await ledger.close(ended, end === 'recorded' && number === 1 ? recorded : undefined, row);
      // A repeated closing adds nothing.
      if (made.tokens % 3 === 0) await ledger.close({ ...ended, cost: 9 }, undefined, row);
    }
    return all;
  }

  const keys: Readonly<Record<(typeof usageGroups)[number], (row: OpenedRow) => string>> = {
    day: (row) => row.opened_at.slice(0, 10),
    agent: (row) => row.agent_id ?? '',
    model: (row) => row.model,
    key: (row) => row.key_id ?? '',
    user: (row) => row.user_id ?? '',
    source: (row) => row.source,
    payer: (row) => row.payer,
  };

  function expected(ended: readonly Ended[]) {
    const sum = (of: (each: Ended) => number): number => ended.reduce((all, each) => all + of(each), 0);
    return {
      calls: sum(({ row }) => (row.attempt_number === 1 ? 1 : 0)),
      input_tokens: sum(({ input }) => input),
      output_tokens: sum(({ output }) => output),
      cost: Number(ended.reduce((all, { nano }) => all + nano, 0n)) / 1e9,
    };
  }

  await fc.assert(
    fc.asyncProperty(
      fc.array(attempt, { minLength: 1, maxLength: 40 }),
      fc.array(fc.tuple(moment, moment), { minLength: 3, maxLength: 6 }),
      async (made, ranges) => {
        const scope = await insertTenant(store);
        const all = (await Promise.all(made.map((each) => write(scope.tenantId, each)))).flat();
        await ledger.sweep();
        for (const [a, b] of [...ranges, [-10, spanMs + 10] as const]) {
          const range = {
            from: new Date(startMs + Math.min(a, b)),
            to: new Date(startMs + Math.max(a, b) + 1),
          };
          const within = all.filter(
            ({ row: { opened_at: at } }) => at >= range.from.toISOString() && at < range.to.toISOString(),
          );
          for (const group of usageGroups) {
            const { total, groups } = await store.inTenant(scope, (tx) =>
              usageTotals(scope, tx, { ...range, ...partsOf(range) }, group),
            );
            t.deepEqual(total, expected(within), group);
            const keyOf = keys[group];
            const names = [...new Set(within.map(({ row }) => keyOf(row)))].toSorted();
            t.deepEqual(
              groups.toSorted((one, other) => (one.key < other.key ? -1 : 1)),
              names.map((key) => ({ key, ...expected(within.filter(({ row }) => keyOf(row) === key)) })),
              group,
            );
          }
        }
      },
    ),
    { numRuns: 12 },
  );
});
