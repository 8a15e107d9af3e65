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
  const reported: string[] = [];
  const state = { marks: 0, reads: 0, storeIsAway: false };
  let meanwhile = (): void => undefined;
  const ledger = new CostLedger({
    time,
    read: async ({ scope, id }, starts) => {
      state.reads += 1;
      if (state.storeIsAway) throw new Error('the store is away');
      const spent = spentSince.get(`${scope} ${id} ${starts}`) ?? 0;
      await Promise.resolve();
      meanwhile();
      return spent;
    },
    mark: async () => {
      if (state.storeIsAway) throw new Error('the store is away');
      state.marks += 1;
    },
    recover: async () => options.open ?? [],
    inherited: options.inherited ?? false,
    onThreshold: async ({ scope }, starts, percent, spent) => {
      told.push(`${scope} ${starts} ${percent}% ${spent}`);
    },
    report: (attempted) => reported.push(attempted),
  });
  /** Sets what happens during each read from now on. */
  const duringReads = (action: () => void): void => void (meanwhile = action);
  return { time, spentSince, told, reported, state, ledger, duringReads };
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

const settled = (attemptId: string, nanos: number, day?: string) => ({
  attemptId,
  nanos,
  keyId: 'key-1',
  agentId: null,
  day,
});

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

/** The row of an attempt is closed, and its settlement arrives. */
async function closed(built: ReturnType<typeof build>, attemptId: string, nanos: number): Promise<void> {
  add(built, 'tenant tenant 2026-11-21', nanos);
  built.ledger.settle(settled(attemptId, nanos));
  await ticks();
}

function add({ spentSince }: ReturnType<typeof build>, account: string, nanos: number): void {
  spentSince.set(account, (spentSince.get(account) ?? 0) + nanos);
}

test('each threshold is told once', async (t) => {
  const built = build();
  for (const id of ['a', 'b', 'c']) await decided(built, claim(id));
  await closed(built, 'a', 79);
  t.deepEqual(built.told, []);
  await closed(built, 'b', 1);
  await closed(built, 'c', 20);
  t.deepEqual(built.told, ['tenant 2026-11-21 80% 80', 'tenant 2026-11-21 100% 100']);
});

test('a cost whose row was read before its settlement arrived refuses no call and reaches no threshold', async (t) => {
  const built = build();
  add(built, 'tenant tenant 2026-11-21', 50);
  await decided(built, claim('a'));
  add(built, 'tenant tenant 2026-11-21', 20);
  built.time.advance(1_500);
  t.is(
    await decided(built, claim('b', { nanos: 15 })),
    'spent',
    '70 spent, and 40 of the same call reserved',
  );
  built.ledger.settle(settled('a', 20));
  await ticks();
  t.deepEqual(built.told, [], '70 of 100');
  t.is(await decided(built, claim('c', { nanos: 15 })), 'reserved');
  // Before the next read, with a reservation that stands between 70 and the limit.
  built.ledger.settle(settled('c', 5));
  t.is(await decided(built, claim('d', { nanos: 29 })), 'reserved');
  built.ledger.settle(settled('unknown', 20));
  t.is(await decided(built, claim('e')), 'reserved', '70 spent and 29 reserved leave room');
});

test('a sum that settlements change during each read refuses without calling the budget spent', async (t) => {
  const built = build();
  add(built, 'tenant tenant 2026-11-21', 70);
  await decided(built, claim('a', { nanos: 20 }));
  let number = 0;
  built.duringReads(() => built.ledger.settle(settled(`other-${number++}`, 15)));
  built.time.advance(1_500);
  t.is(await decided(built, claim('b')), 'busy', '90, or 105 if the store lacks the last one');
});

test('a cost counts on the day on which its attempt began', async (t) => {
  const built = build({ at: '2026-11-30T23:59:30Z' });
  await decided(built, claim('a', { nanos: 90 }));
  built.time.advance(34_000);
  t.is(await decided(built, claim('b', { nanos: 15 })), 'reserved', 'reads the new day');
  const { reads } = built.state;
  built.ledger.settle(settled('a', 90, '2026-11-30'));
  await ticks();
  t.is(built.state.reads, reads, 'the new day has no part of it');
  t.is(await decided(built, claim('c', { nanos: 20 })), 'reserved');
  t.deepEqual(built.told, []);
});

test('a period that is over is told of its own costs, and not of later ones', async (t) => {
  const built = build({ at: '2026-11-30T23:59:30Z' });
  const month: AppliedBudget = { ...tenantBudget, period: 'month' };
  await decided(built, claim('a', { budgets: [tenantBudget, month] }));
  built.time.advance(34_000);
  built.ledger.settle(settled('retry of a', 90, '2026-12-01'));
  await ticks();
  t.deepEqual(built.told, []);
  add(built, 'tenant tenant 2026-11-30', 85);
  add(built, 'tenant tenant 2026-11-01', 85);
  built.ledger.settle(settled('a', 85, '2026-11-30'));
  await ticks();
  t.deepEqual(built.told, ['tenant 2026-11-30 80% 85', 'tenant 2026-11-01 80% 85']);
});

test('a threshold that could not be read is told with the next sweep', async (t) => {
  const built = build();
  await decided(built, claim('a'));
  built.state.storeIsAway = true;
  await closed(built, 'a', 80);
  t.deepEqual([built.told, built.reported], [[], ['reading what was spent of a budget']]);
  built.state.storeIsAway = false;
  built.ledger.sweep(() => false);
  await ticks();
  t.deepEqual(built.told, ['tenant 2026-11-21 80% 80']);
});

test('a raised budget has thresholds of its own, each told once', async (t) => {
  const built = build();
  await decided(built, claim('a'));
  await closed(built, 'a', 100);
  t.is(await decided(built, claim('b')), 'spent');
  t.deepEqual(built.told.splice(0), ['tenant 2026-11-21 80% 100', 'tenant 2026-11-21 100% 100']);
  const budgets = [{ ...tenantBudget, limit: 200 }];
  t.is(await decided(built, claim('c', { budgets })), 'reserved');
  t.is(await decided(built, claim('d', { budgets })), 'reserved');
  t.deepEqual(built.told, [], 'half of the new limit');
  await closed(built, 'c', 60);
  await closed(built, 'd', 40);
  t.deepEqual(built.told, ['tenant 2026-11-21 80% 160', 'tenant 2026-11-21 100% 200']);
});
