// Costs against budgets: only the arithmetic, with the test's clock and store.
import test from 'ava';
import type { AppliedBudget } from '../../../../src/tenancy/quota/budgets.js';
import { budgetSpent } from '../../../../src/tenancy/quota/budgets.js';
import {
  type CostClaim,
  CostLedger,
  type CostReservation,
} from '../../../../src/tenancy/quota/cost-ledger.js';
import { ManualTime } from '../../../support/clocks/manual-time.js';

const tenantBudget: AppliedBudget = { scope: 'tenant', id: 'tenant', limit: 100, period: 'day' };

function build(options: { at?: string; inherited?: boolean; open?: readonly CostReservation[] } = {}) {
  const time = new ManualTime(options.at ?? '2026-11-21T10:00:00Z');
  const spentSince = new Map<string, number>();
  const told: string[] = [];
  const state = { marks: 0, storeIsAway: false };
  const ledger = new CostLedger({
    time,
    read: async ({ scope, id }, since) => spentSince.get(`${scope} ${id} ${since}`) ?? 0,
    mark: async () => {
      if (state.storeIsAway) throw new Error('the store is away');
      state.marks += 1;
    },
    recover: async () => options.open ?? [],
    inherited: options.inherited ?? false,
    onThreshold: async ({ scope }, starts, percent, spent) => {
      told.push(`${scope} ${starts} ${percent}% ${spent}`);
    },
    report: () => undefined,
  });
  return { time, spentSince, told, state, ledger };
}

function claim(attemptId: string, changes: Partial<CostClaim> = {}): CostClaim {
  return {
    attemptId,
    process: 'node-1',
    nanos: 40,
    withinMs: 60_000,
    keyId: 'key-1',
    agentId: null,
    budgets: [tenantBudget],
    alreadyAdmitted: false,
    ...changes,
  };
}

const settled = (attemptId: string, nanos: number) => ({ attemptId, nanos, keyId: 'key-1', agentId: null });

async function ticks(): Promise<void> {
  for (let tick = 0; tick < 5; tick += 1) await new Promise<void>((resolve) => setImmediate(resolve));
}

/** The outcome, with the time that a refusal waits for settlements. */
async function decided(built: ReturnType<typeof build>, given: CostClaim): Promise<string> {
  const answer = built.ledger.reserve(given);
  let outcome = 'waits';
  void answer.then((reserved) => (outcome = reserved.outcome));
  await ticks();
  if (outcome === 'waits') built.time.advance(300);
  await ticks();
  return outcome;
}

test('calls are admitted while spent and reserved are below the limit, and the one that crosses is served', async (t) => {
  const built = build();
  const outcomes: string[] = [];
  for (const id of ['a', 'b', 'c', 'd']) outcomes.push(await decided(built, claim(id)));
  t.deepEqual(outcomes, ['reserved', 'reserved', 'reserved', 'spent']);
  built.ledger.settle(settled('a', 5));
  t.is(await decided(built, claim('e')), 'reserved', '5 spent and 80 reserved leave room');
  t.is(await decided(built, claim('f')), 'spent');
  t.is(
    await decided(built, claim('g', { alreadyAdmitted: true })),
    'reserved',
    'a retry of an admitted call',
  );
  t.is(built.state.marks, 1, 'one commit for the activation');
});

test('every budget of a call counts by itself, and a repeated request counts once', async (t) => {
  const built = build();
  const keyBudget: AppliedBudget = { scope: 'key', id: 'key-1', limit: 30, period: 'month' };
  const budgets = [keyBudget, tenantBudget];
  t.is(await decided(built, claim('a', { budgets })), 'reserved');
  t.is(await decided(built, claim('a', { budgets })), 'reserved', 'the same attempt');
  const refused = built.ledger.reserve(claim('b', { budgets }));
  await ticks();
  built.time.advance(300);
  t.deepEqual(await refused, { outcome: 'spent', budget: 0, spent: 0 });
  t.is(await decided(built, claim('c', { keyId: 'key-2' })), 'reserved', 'another key of the tenant');
  built.ledger.settle(settled('a', 10));
  built.ledger.settle(settled('a', 10));
  built.spentSince.set('key key-1 2026-11-01', 10);
  t.is(await decided(built, claim('d', { budgets })), 'reserved', 'a repeated settlement adds nothing');
});

test('a repeated settlement of costs counts once', async (t) => {
  const built = build();
  for (const id of ['a', 'b']) await decided(built, claim(id));
  for (let repeat = 0; repeat < 3; repeat += 1) built.ledger.settle(settled('a', 30));
  await ticks();
  t.deepEqual(built.told, [], '30 of 100 reach no threshold');
  t.is(await decided(built, claim('c')), 'reserved', '30 spent and 40 reserved leave room');
});

test('a budget without room refuses, however much room the budgets before it have', async (t) => {
  const built = build();
  const wide: AppliedBudget = { scope: 'key', id: 'key-1', limit: 1_000, period: 'month' };
  built.spentSince.set('tenant tenant 2026-11-21', 100);
  const refused = { outcome: 'spent', budget: 1, spent: 100 };
  t.like(await built.ledger.reserve(claim('a', { budgets: [wide, tenantBudget] })), refused);
  t.like(await built.ledger.reserve(claim('b', { budgets: [tenantBudget, wide] })), {
    ...refused,
    budget: 0,
  });
  t.true(built.ledger.isIdle, 'a refused call reserves in no budget');
});

test('days and months begin at midnight in UTC', async (t) => {
  const built = build({ at: '2026-11-30T23:59:59Z' });
  const month: AppliedBudget = { ...tenantBudget, period: 'month' };
  built.spentSince.set('tenant tenant 2026-11-30', 100);
  built.spentSince.set('tenant tenant 2026-11-01', 100);
  t.is(await decided(built, claim('a')), 'spent');
  t.is(await decided(built, claim('b', { budgets: [month] })), 'spent');
  const { details, retryAfterSeconds } = budgetSpent(month, 100, Date.parse('2026-11-30T23:59:59Z'));
  t.deepEqual(details, {
    kind: 'budget',
    scope: 'tenant',
    limit_usd: 1e-7,
    spent_usd: 1e-7,
    resets_at: '2026-12-01T00:00:00.000Z',
  });
  t.is(retryAfterSeconds, 1);
  built.time.advance(1_000);
  t.is(await decided(built, claim('c')), 'reserved');
  t.is(await decided(built, claim('d', { budgets: [month] })), 'reserved');
});

test('a successor of a lost owner waits for the rows of its calls and counts them', async (t) => {
  const open = {
    attemptId: 'old',
    process: 'node-2',
    nanos: 100,
    withinMs: 60_000,
    keyId: null,
    agentId: null,
  };
  const built = build({ inherited: true, open: [open] });
  let outcome = 'waits';
  void built.ledger.reserve(claim('a')).then((reserved) => (outcome = reserved.outcome));
  await ticks();
  built.time.advance(5_900);
  await ticks();
  t.is(outcome, 'waits');
  built.time.advance(200);
  await ticks();
  built.time.advance(300);
  await ticks();
  t.is(outcome, 'spent');
  built.ledger.sweep((process) => process === 'node-2');
  t.is(await decided(built, claim('b')), 'busy', 'its row is still to be closed');
  built.time.advance(61_000);
  built.ledger.sweep(() => true);
  built.spentSince.set('tenant tenant 2026-11-21', 60);
  t.is(await decided(built, claim('c')), 'reserved');
});

test('without its mark nothing is reserved', async (t) => {
  const { ledger, state } = build();
  state.storeIsAway = true;
  await t.throwsAsync(() => ledger.reserve(claim('a')));
  t.true(ledger.isIdle);
  state.storeIsAway = false;
  t.is((await ledger.reserve(claim('a'))).outcome, 'reserved');
});

test('each threshold is told once', async (t) => {
  const built = build();
  for (const id of ['a', 'b', 'c']) await decided(built, claim(id));
  built.ledger.settle(settled('a', 79));
  await ticks();
  t.deepEqual(built.told, []);
  built.ledger.settle(settled('b', 1));
  built.ledger.settle(settled('c', 20));
  await ticks();
  t.deepEqual(built.told, ['tenant 2026-11-21 80% 80', 'tenant 2026-11-21 100% 100']);
});

test('a raised budget has thresholds of its own, each told once', async (t) => {
  const built = build();
  await decided(built, claim('a'));
  built.ledger.settle(settled('a', 100));
  built.spentSince.set('tenant tenant 2026-11-21', 100);
  t.is(await decided(built, claim('b')), 'spent');
  t.deepEqual(built.told.splice(0), ['tenant 2026-11-21 80% 100', 'tenant 2026-11-21 100% 100']);
  const budgets = [{ ...tenantBudget, limit: 200 }];
  t.is(await decided(built, claim('c', { budgets })), 'reserved');
  t.is(await decided(built, claim('d', { budgets })), 'reserved');
  t.deepEqual(built.told, [], 'half of the new limit');
  built.ledger.settle(settled('c', 60));
  await ticks();
  built.ledger.settle(settled('d', 40));
  await ticks();
  t.deepEqual(built.told, ['tenant 2026-11-21 80% 160', 'tenant 2026-11-21 100% 200']);
});
