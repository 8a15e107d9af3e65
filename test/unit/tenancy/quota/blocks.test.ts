// The arithmetic of blocks: several processes, any of which may die, stop in order or change its mind.
import { randomUUID } from 'node:crypto';
import { setImmediate as nextRound } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import fc from 'fast-check';
import { tenantScope } from '../../../../src/kernel/tenant-scope.js';
import { LocalAdmission } from '../../../../src/tenancy/quota/admission.js';
import { type Countable, Grants, type GrantStore } from '../../../../src/tenancy/quota/grants.js';
import { SlidingWindow } from '../../../../src/tenancy/quota/sliding-window.js';
import { ManualTime } from '../../../support/clocks/manual-time.js';

/** Like `work_counts`: a count granted below a limit is never granted again. */
class Booked implements GrantStore {
  granted = 0;

  async take({ limit }: Countable, wanted: number) {
    const block = Math.max(0, Math.min(wanted, limit - this.granted));
    this.granted += block;
    return { block, granted: this.granted };
  }

  async giveBack(_scope: unknown, _subject: string, rest: number): Promise<void> {
    this.granted -= rest;
  }
}

async function grantOne(grants: Grants, counted: Countable): Promise<boolean> {
  for (;;) {
    const standing = grants.standing(counted);
    if (standing === 'used-up') return false;
    if (standing === 'has-room') {
      grants.grant(counted);
      return true;
    }
    await grants.prepare(counted);
  }
}

test('however processes die, stop, return and change limits, no more than the highest limit is granted', async (t) => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant('grant' as const), node: fc.nat({ max: 2 }), times: fc.nat({ max: 40 }) }),
    fc.record({ kind: fc.constant('take back' as const), node: fc.nat({ max: 2 }) }),
    fc.record({ kind: fc.constant('die' as const), node: fc.nat({ max: 2 }) }),
    fc.record({ kind: fc.constant('stop' as const), node: fc.nat({ max: 2 }) }),
    fc.record({ kind: fc.constant('limit' as const), limit: fc.integer({ min: 1, max: 150 }) }),
    fc.record({ kind: fc.constant('wait' as const) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40 }), async (steps) => {
      const booked = new Booked();
      const time = new ManualTime('2026-11-21T10:00:00Z');
      const scope = tenantScope(randomUUID());
      const report = (attempted: string, error: unknown): void => {
        throw new Error(attempted, { cause: error });
      };
      const start = (): Grants => new Grants(booked, { time, countsMax: 10, report });
      const nodes = [start(), start(), start()];
      let [limit, highest, granted, died] = [50, 50, 0, false];
      for (const one of steps) {
        const index = 'node' in one ? one.node : 0;
        const node = nodes[index];
        if (node === undefined) return false;
        const counted = { scope, subject: 'a-day', limit };
        if (one.kind === 'grant') {
          const outcomes = await Promise.all(
            Array.from({ length: one.times }, () => grantOne(node, counted)),
          );
          const admitted = outcomes.filter((isGranted) => isGranted).length;
          granted += admitted;
        } else if (one.kind === 'take back' && granted > 0) {
          // Also if another process had granted it and is gone.
          node.refund(counted);
          granted -= 1;
        } else if (one.kind === 'die' || one.kind === 'stop') {
          if (one.kind === 'stop') await node.stop();
          else died = true;
          nodes[index] = start();
        } else if (one.kind === 'limit') {
          ({ limit } = one);
          highest = Math.max(highest, limit);
        } else {
          time.advance(1_000);
        }
        if (granted > highest || booked.granted < granted) return false;
      }
      for (const node of nodes) await node.stop();
      // A crash may leave a block spent; orderly ends leave exactly the granted count.
      return died ? booked.granted >= granted : booked.granted === granted;
    }),
    { numRuns: 150 },
  );
  t.pass();
});

/** Blocks that arrive when the test says. */
class Deferred implements GrantStore {
  readonly returned: number[] = [];
  #answer: (block: number | Error) => void = () => undefined;

  async answer(block: number | Error): Promise<void> {
    await nextRound();
    this.#answer(block);
  }

  take(): ReturnType<GrantStore['take']> {
    return new Promise((resolve, reject) => {
      this.#answer = (block) => (block instanceof Error ? reject(block) : resolve({ block, granted: block }));
    });
  }

  async giveBack(_scope: unknown, _subject: string, rest: number): Promise<void> {
    this.returned.push(rest);
  }
}

function granting<Rows extends GrantStore>(t: ExecutionContext, store: Rows) {
  const time = new ManualTime('2026-11-21T10:00:00Z');
  const grants = new Grants(store, { time, countsMax: 10, report: (_what, error) => t.fail(String(error)) });
  return { store, grants, counted: { scope: tenantScope(randomUUID()), subject: 'a-day', limit: 100 } };
}

test('nothing is granted from a block before the store has committed it', async (t) => {
  const { store, grants, counted } = granting(t, new Deferred());
  const failing = grants.prepare(counted);
  await nextRound();
  t.is(grants.standing(counted), 'unknown', 'the block is on its way');
  await store.answer(new Error('the store is away'));
  await t.throwsAsync(failing, { message: 'the store is away' });
  t.is(grants.standing(counted), 'unknown', 'the block was not taken');
  const taking = grants.prepare(counted);
  await nextRound();
  t.is(grants.standing(counted), 'unknown');
  await store.answer(1);
  await taking;
  t.true(await grantOne(grants, counted));
  t.is(grants.standing(counted), 'unknown', 'the block of one is used up');
});

test('a block that arrives after its count was dropped is given back', async (t) => {
  const { store, grants, counted } = granting(t, new Deferred());
  const taking = grants.prepare(counted);
  await nextRound();
  grants.drop(counted.scope, counted.subject, 'given back');
  await store.answer(7);
  await taking;
  t.deepEqual(store.returned, [7]);
});

test('the rest of a dropped block is given back, or stays spent', async (t) => {
  for (const { rest, left } of [
    { rest: 'given back', left: 1 } as const,
    { rest: 'spent', left: 2 } as const,
  ]) {
    const { store, grants, counted } = granting(t, new Booked());
    t.true(await grantOne(grants, counted));
    t.is(store.granted, 2, 'one of them is the rest');
    grants.drop(counted.scope, counted.subject, rest);
    await grants.stop();
    t.is(store.granted, left, rest);
  }
});

test('a lowered limit counts at once, although the block has a rest', async (t) => {
  const { grants, counted } = granting(t, new Booked());
  t.true(await grantOne(grants, counted));
  t.is(grants.standing(counted), 'has-room');
  t.is(grants.standing({ ...counted, limit: 1 }), 'used-up');
});

test('work returned around midnight stays counted, because its day is unknown', async (t) => {
  const booked = new Booked();
  const time = new ManualTime('2026-11-21T23:59:58Z');
  const scope = tenantScope(randomUUID());
  const days = new Grants(booked, { time, countsMax: 10, report: (_what, error) => t.fail(String(error)) });
  const admission = new LocalAdmission({ time, days, lives: days, dailyLimits: true, windowsMax: 10 });
  const limits = { requestsPerMinute: 100, requestsPerDay: 40 };
  const admit = async (): Promise<void> => void (await admission.admitTenantWork(scope, limits));
  await admit();
  await admit();
  time.advance(3_000);
  await admit();
  admission.takeBackWork(scope, limits, undefined, 3_000);
  await days.stop();
  t.is(booked.granted, 3, 'the three of two days');
  time.advance(20_000);
  await admit();
  admission.takeBackWork(scope, limits, undefined, 3_000);
  await days.stop();
  t.is(booked.granted, 3);
});

test('a window that moves to another process continues there, and a withdrawn one is dropped', (t) => {
  const [before, after] = [new SlidingWindow(), new SlidingWindow()];
  for (const atMs of [1_000, 1_200, 30_000, 50_000]) before.add(atMs);
  before.refund();
  const { agesMs, counts } = before.history(55_000);
  t.is(
    counts.reduce((sum, count) => sum + count, 0),
    3,
  );
  // The other process has its own clock, and has already counted two.
  after.add(900_000);
  after.add(905_000);
  after.merge(910_000, agesMs, counts);
  t.is(after.used(910_000), 5);
  t.is(after.used(917_000), 3, 'the first two leave a minute after they came');
  t.is(after.roomAtMs(917_000, 3), 945_000);
  after.refund();
  after.refund();
  t.is(after.used(917_000), 1);
  for (let more = 0; more < 5; more += 1) after.refund();
  t.is(after.used(917_000), 0);
});
