// The contract of every member store. Each test gets an empty store.

import type { ExecutionContext, TestFn } from 'ava';
import { processId, viewNumber } from '../../cluster/ids/ids.js';
import type { Departed, Lease, MemberStore, StoredLease } from '../../cluster/membership/member-store.js';
import type { Member } from '../../cluster/membership/membership.js';
import { emptyView, makeView } from '../../cluster/membership/view.js';
import { eventually } from '../support/clocks/eventually.js';

export interface MemberStoreRig {
  /** Two clients of one store, as in two processes. */
  readonly one: MemberStore;
  readonly other: MemberStore;
  flush(): Promise<void>;
}

export function member(name: string): Member {
  return {
    process: processId(name),
    address: `127.0.0.1:${name.length}`,
    weight: 1,
    roles: ['edge', 'worker'],
    host: 'a host',
    pid: 7,
  };
}

export function lease(name: string, renewals: number, changes: Partial<Lease> = {}): Lease {
  return { member: member(name), renewals, promisedMs: 0, holds: viewNumber(0), leaving: false, ...changes };
}

/** As the store holds it, executed as soon as it was sent. */
export function stored(name: string, renewals: number, changes: Partial<StoredLease> = {}): StoredLease {
  return { lateMs: 0, ...lease(name, renewals, changes), ...changes };
}

/** Without the time that they were on their way, which no test knows. */
function described(leases: readonly StoredLease[]): Lease[] {
  return leases.map(({ member: of, renewals, promisedMs, holds, leaving }) => ({
    member: of,
    renewals,
    promisedMs,
    holds,
    leaving,
  }));
}

export function left(name: string, promisedMs = 0): Departed {
  return { process: processId(name), promisedMs };
}

const removal = { votesNeeded: 1, voteMs: 60_000, silenceMs: 0 };

export function memberStoreContract(
  test: TestFn,
  implementation: string,
  open: (t: ExecutionContext) => Promise<MemberStoreRig>,
): void {
  test(`${implementation}: a new lease is visible to other processes exactly as its process described it`, async (t) => {
    const { one, other } = await open(t);
    const said = lease('p1', 3, { promisedMs: 1_200, holds: viewNumber(9), leaving: true });
    const renewal = await one.renew(said, undefined);
    t.true(renewal.renewed);
    t.deepEqual(described(renewal.leases), [said]);
    const { generationAgeMs, leases, ...rest } = await other.snapshot();
    t.true(generationAgeMs >= 0);
    t.deepEqual(described(leases), [said]);
    t.deepEqual(rest, {
      generation: renewal.generation,
      departed: [],
      view: undefined,
    });
  });

  test(`${implementation}: renewing a removed lease is refused if the process has renewed under the current mark`, async (t) => {
    const { one, other } = await open(t);
    const { generation } = await one.renew(lease('p1', 1), undefined);
    const process = processId('p1');
    const voter = processId('p2');
    const outcome = await other.remove({ generation, process, renewals: 1, voter, ...removal });
    t.is(outcome.outcome, 'removed');
    const again = await one.renew(lease('p1', 2), generation);
    t.false(again.renewed);
    t.deepEqual(again.leases, []);
  });

  test(`${implementation}: after a flush the mark is new and a renewal creates the lease again`, async (t) => {
    const { one, other, flush } = await open(t);
    const { generation } = await one.renew(lease('p1', 1), undefined);
    await flush();
    const again = await one.renew(lease('p1', 2), generation);
    t.true(again.renewed);
    t.not(again.generation, generation);
    t.is((await other.snapshot()).generation, again.generation);
  });

  test(`${implementation}: a snapshot contains the age of the mark`, async (t) => {
    const { one, other, flush } = await open(t);
    await one.renew(lease('p1', 1), undefined);
    await eventually(async () => (await other.snapshot()).generationAgeMs > 50, {
      what: 'the mark is older',
    });
    t.true((await one.renew(lease('p1', 2), undefined)).generationAgeMs > 50);
    await flush();
    const { generationAgeMs } = await one.renew(lease('p1', 3), undefined);
    t.true(generationAgeMs < 50, `${generationAgeMs} ms after the new mark was made`);
  });

  test(`${implementation}: a renewal that arrives after a later one changes nothing`, async (t) => {
    const { one } = await open(t);
    const { generation } = await one.renew(lease('p1', 5), undefined);
    const late = await one.renew(lease('p1', 4, { promisedMs: 9 }), generation);
    t.true(late.renewed);
    t.deepEqual(described(late.leases), [lease('p1', 5)]);
  });

  test(`${implementation}: a vote is refuted by a renewal that the voter had not seen, and by another mark`, async (t) => {
    const { one } = await open(t);
    const { generation } = await one.renew(lease('p1', 5), undefined);
    const process = processId('p1');
    const voter = processId('p2');
    t.is((await one.remove({ generation, process, renewals: 4, voter, ...removal })).outcome, 'refuted');
    const stale = { generation: 'another', process, renewals: 5, voter, ...removal };
    t.is((await one.remove(stale)).outcome, 'refuted');
    t.is((await one.snapshot()).leases.length, 1);
  });

  test(`${implementation}: two votes must come from two processes and refer to the same renewal`, async (t) => {
    const { one, other } = await open(t);
    const { generation } = await one.renew(lease('p1', 1), undefined);
    const request = { generation, process: processId('p1'), ...removal, votesNeeded: 2 };
    const first = processId('p2');
    t.is((await one.remove({ ...request, renewals: 1, voter: first })).outcome, 'more_votes');
    t.is((await one.remove({ ...request, renewals: 1, voter: first })).outcome, 'more_votes');
    await one.renew(lease('p1', 2), generation);
    t.is((await other.remove({ ...request, renewals: 2, voter: processId('p3') })).outcome, 'more_votes');
    t.is((await one.remove({ ...request, renewals: 2, voter: first })).outcome, 'removed');
  });

  test(`${implementation}: enough votes remove nothing before the silence is long enough`, async (t) => {
    const { one } = await open(t);
    const { generation } = await one.renew(lease('p1', 1), undefined);
    const request = { generation, process: processId('p1'), renewals: 1, voter: processId('p2'), ...removal };
    const early = await one.remove({ ...request, silenceMs: 60_000 });
    t.is(early.outcome, 'too_early');
    t.true(early.silentMs >= 0 && early.silentMs < 60_000);
    t.is((await one.remove(request)).outcome, 'removed');
  });

  test(`${implementation}: only one of two concurrent first views is accepted`, async (t) => {
    const { one, other } = await open(t);
    const { generation } = await one.snapshot();
    const publication = { generation, follows: emptyView };
    const taken = await Promise.all([
      one.publish(makeView(viewNumber(1), [member('p1')]), publication),
      other.publish(makeView(viewNumber(2), [member('p2')]), publication),
    ]);
    t.deepEqual(
      taken.toSorted((a, b) => Number(a) - Number(b)),
      [false, true],
    );
  });

  test(`${implementation}: a view is accepted only if the store holds exactly the view that it follows`, async (t) => {
    const { one, other } = await open(t);
    const { generation } = await one.snapshot();
    const first = makeView(viewNumber(1), [member('p1')]);
    const twin = makeView(viewNumber(1), [member('p2')]);
    const second = makeView(viewNumber(2), [member('p1'), member('p2')]);
    const third = makeView(viewNumber(3), [member('p2')]);
    t.true(await one.publish(first, { generation, follows: emptyView }));
    t.false(await one.publish(second, { generation, follows: twin }), 'same number, different members');
    t.true(await one.publish(second, { generation, follows: first }));
    t.false(await other.publish(third, { generation, follows: first }));
    t.deepEqual((await other.snapshot()).view, second);
  });

  test(`${implementation}: a view is restored over no view or a lower number, and never under another mark`, async (t) => {
    const { one, flush } = await open(t);
    const before = await one.snapshot();
    await flush();
    const { generation } = await one.snapshot();
    const low = makeView(viewNumber(4), [member('p1')]);
    const high = makeView(viewNumber(6), [member('p1'), member('p2')]);
    t.false(await one.publish(low, { generation: before.generation, follows: undefined }));
    t.true(await one.publish(low, { generation, follows: undefined }));
    t.true(await one.publish(high, { generation, follows: undefined }));
    t.false(await one.publish(low, { generation, follows: undefined }));
    t.false(await one.publish(high, { generation, follows: undefined }));
    t.deepEqual((await one.snapshot()).view, high);
  });

  test(`${implementation}: a released lease is gone, and a second release has no effect`, async (t) => {
    const { one, other } = await open(t);
    await one.renew(lease('p1', 1), undefined);
    await one.release(left('p1'));
    await one.release(left('p1'));
    t.deepEqual((await other.snapshot()).leases, []);
  });

  test(`${implementation}: a released lease leaves a departure record, a removed lease leaves none`, async (t) => {
    const { one, other, flush } = await open(t);
    const { generation } = await one.renew(lease('p1', 1), undefined);
    await one.renew(lease('p2', 1), undefined);
    await one.renew(lease('p3', 1), undefined);
    await one.release(left('p1', 2_500));
    const process = processId('p2');
    await other.remove({ generation, process, renewals: 1, voter: processId('p4'), ...removal });
    t.deepEqual((await other.snapshot()).departed, [left('p1', 2_500)]);
    // The process learns that its lease was removed, ends its work and leaves a record.
    await one.release(left('p2'));
    t.deepEqual(
      (await other.snapshot()).departed.toSorted((a, b) => (a.process < b.process ? -1 : 1)),
      [left('p1', 2_500), left('p2')],
    );
    t.deepEqual(
      (await other.snapshot()).leases.map(({ member: { process: name } }) => name),
      [processId('p3')],
    );
    t.false((await one.renew(lease('p1', 2), generation)).renewed, 'a renewal still in flight is refused');
    await flush();
    t.deepEqual((await other.snapshot()).departed, []);
  });

  test(`${implementation}: a first renewal that arrives after the release of its process creates no lease`, async (t) => {
    const { one, other } = await open(t);
    await one.release(left('p1'));
    const first = await one.renew(lease('p1', 1), undefined);
    t.false(first.renewed);
    t.false(first.late);
    t.deepEqual(first.leases, []);
    const { leases, departed } = await other.snapshot();
    t.deepEqual(leases, []);
    t.deepEqual(departed, [left('p1')]);
    t.true((await other.renew(lease('p2', 1), undefined)).renewed, 'another process may join');
  });

  test(`${implementation}: a new member, a view and a departure cause a hint for those who listen`, async (t) => {
    const { one, other } = await open(t);
    const hints = { leaver: 0, stayer: 0 };
    const unsubscribe = other.onChange(() => {
      hints.leaver += 1;
    });
    // Told after the other, by the same connection.
    other.onChange(() => {
      hints.stayer += 1;
    });
    const { generation } = await one.renew(lease('p1', 1), undefined);
    await eventually(() => hints.stayer === 1, { what: 'a hint for a new lease' });
    await one.publish(makeView(viewNumber(1), [member('p1')]), { generation, follows: emptyView });
    await eventually(() => hints.stayer === 2, { what: 'a hint for a view' });
    await one.release(left('p1'));
    await eventually(() => hints.stayer === 3, { what: 'a hint for a departure' });
    unsubscribe();
    await one.renew(lease('p2', 1), undefined);
    await eventually(() => hints.stayer === 4, { what: 'a hint for another lease' });
    t.is(hints.leaver, 3);
  });
}
