// The contract of every fence store. Its test tables keep sums: a write adds one row and sets a sum, and a negative
// sum is rejected, and so are those that the store is made to refuse.

import type { ExecutionContext, TestFn } from 'ava';
import type { Fence, FencedWrite, FenceStore, WriteOutcome } from '../../cluster/fencing/fence.js';
import {
  activationId,
  actorAddress,
  actorKind,
  epoch,
  processId,
  revision,
  slot,
  type ActorAddress,
} from '../../cluster/ids/ids.js';
import { eventually } from '../support/clocks/eventually.js';

export interface SumLoad {
  readonly counter: string;
}

export interface SumWrite {
  readonly id: string;
  readonly counter: string;
  readonly sum: number;
}

/** Sums that PostgreSQL refuses with these codes: a program limit, a missing feature, an internal error. */
export const refusedSums: Readonly<Record<string, number>> = {
  54000: 154_000,
  '0A000': 100_001,
  XX000: 100_002,
};
/** No statement can be made of a write with this sum. */
export const unusableSum = 100_003;

export type SumStore = FenceStore<SumLoad, number, SumWrite, number>;

/** Two clients of one store, as in two processes. */
export interface FenceStoreRig {
  readonly one: SumStore;
  readonly other: SumStore;
}

let names = 0;

export function counterAddress(name = 'counter'): ActorAddress {
  names += 1;
  return actorAddress(actorKind('test.Counter'), 'a group', `${name}-${process.pid}-${names}`);
}

export function activation(address: ActorAddress, name: string, ignored: readonly string[] = []) {
  return {
    address,
    slot: slot(7),
    activationId: activationId(name),
    ignoreStampsOf: (busy: string) => ignored.includes(busy),
    load: { counter: address.key },
  };
}

export async function activated(
  store: SumStore,
  address: ActorAddress,
  name: string,
): Promise<{ fence: Fence; loaded: number }> {
  const answer = await store.activate(activation(address, name));
  if (answer.outcome !== 'activated') throw new Error('busy');
  return answer;
}

export function adding(
  fence: Fence,
  sum: number,
  id = `${fence.activationId}-${fence.revision}`,
): FencedWrite<SumWrite> {
  return {
    fence,
    stamp: undefined,
    write: { id: `${fence.address.key} ${id}`, counter: fence.address.key, sum },
  };
}

async function outcomes(store: SumStore, ...batch: FencedWrite<SumWrite>[]): Promise<string[]> {
  return (await store.write(batch)).map((outcome) => outcome.outcome);
}

/** The fence that the activation's next write must carry. */
function after(fence: Fence, writes = 1): Fence {
  return { ...fence, revision: revision(fence.revision + writes) };
}

export function fenceStoreContract(
  test: TestFn,
  implementation: string,
  open: (t: ExecutionContext) => Promise<FenceStoreRig>,
): void {
  test(`${implementation}: a first activation has epoch 1 and loads the stored state`, async (t) => {
    const { one } = await open(t);
    const { fence, loaded } = await activated(one, counterAddress(), 'a');
    t.is(Number(fence.epoch), 1);
    t.is(Number(fence.revision), 0);
    t.is(loaded, 0);
  });

  test(`${implementation}: consecutive writes raise the revision and are loaded by the next activation`, async (t) => {
    const { one, other } = await open(t);
    const address = counterAddress();
    const { fence } = await activated(one, address, 'a');
    t.deepEqual(await one.write([adding(fence, 5)]), [{ outcome: 'written', result: 5 }]);
    t.deepEqual(await outcomes(one, adding(after(fence), 8)), ['written']);
    const next = await activated(other, address, 'b');
    t.is(next.loaded, 8);
    t.is(Number(next.fence.epoch), 2);
    t.is(Number(next.fence.revision), 2);
  });

  test(`${implementation}: an older activation can no longer write`, async (t) => {
    const { one, other } = await open(t);
    const address = counterAddress();
    const old = await activated(one, address, 'a');
    const fresh = await activated(other, address, 'b');
    t.deepEqual(await outcomes(one, adding(old.fence, 5)), ['fenced']);
    t.deepEqual(await outcomes(other, adding(fresh.fence, 6)), ['written']);
    t.is((await activated(one, address, 'c')).loaded, 6);
  });

  test(`${implementation}: an activation with the same epoch but another id cannot write`, async (t) => {
    const { one } = await open(t);
    const { fence } = await activated(one, counterAddress(), 'a');
    const twin = { ...fence, activationId: activationId('twin') };
    t.deepEqual(await outcomes(one, adding(twin, 5)), ['fenced']);
  });

  test(`${implementation}: a revision that the store does not have is fenced`, async (t) => {
    const { one } = await open(t);
    const { fence } = await activated(one, counterAddress(), 'a');
    t.deepEqual(await outcomes(one, adding(after(fence, 3), 5)), ['fenced']);
  });

  test(`${implementation}: a batch writes the rows that still match and reports the others as fenced`, async (t) => {
    const { one, other } = await open(t);
    const addresses = [counterAddress('z'), counterAddress('y'), counterAddress('x')];
    const owned = await Promise.all(addresses.map((address) => activated(one, address, 'a')));
    const [, stolen] = addresses;
    if (stolen !== undefined) await activated(other, stolen, 'b');
    const batch = owned.map(({ fence }, index) => adding(fence, index + 1));
    t.deepEqual(await one.write(batch), [
      { outcome: 'written', result: 1 },
      { outcome: 'fenced' },
      { outcome: 'written', result: 3 },
    ] satisfies WriteOutcome<number>[]);
  });

  test(`${implementation}: a write that violates a rule is rejected alone, and its actor can write again`, async (t) => {
    const { one } = await open(t);
    const owned = await Promise.all(
      [counterAddress(), counterAddress()].map((address) => activated(one, address, 'a')),
    );
    const [bad, good] = owned;
    if (bad === undefined || good === undefined) throw new Error('two activations');
    const answers = await one.write([adding(bad.fence, -1), adding(good.fence, 4)]);
    t.deepEqual(
      answers.map((answer) => answer.outcome),
      ['rejected', 'written'],
    );
    t.deepEqual(await outcomes(one, adding(bad.fence, 2, 'corrected')), ['written']);
  });

  for (const [reason, sum] of Object.entries({ ...refusedSums, 'no statement': unusableSum })) {
    test(`${implementation}: a write that the store refuses (${reason}) is rejected alone and at once`, async (t) => {
      const { one, other } = await open(t);
      const [bad, good] = [counterAddress(), counterAddress()];
      const [{ fence }, { fence: neighbour }] = [
        await activated(one, bad, 'a'),
        await activated(one, good, 'a'),
      ];
      const startedMs = performance.now();
      t.deepEqual(await outcomes(one, adding(fence, sum), adding(neighbour, 4)), ['rejected', 'written']);
      const tookMs = performance.now() - startedMs;
      t.true(
        tookMs < 30_000,
        `${tookMs} ms: a write that is submitted again takes a minute until it is given up`,
      );
      t.is((await activated(other, good, 'b')).loaded, 4);
      t.deepEqual(await outcomes(one, adding(fence, 2, 'corrected')), ['written']);
    });
  }

  test(`${implementation}: a batch that is submitted again is written once and reported as written`, async (t) => {
    const { one, other } = await open(t);
    const address = counterAddress();
    const { fence } = await activated(one, address, 'a');
    const batch = [adding(fence, 5)];
    await one.write(batch);
    t.deepEqual(await one.write(batch), [{ outcome: 'written', result: undefined }]);
    const next = await activated(other, address, 'b');
    t.is(next.loaded, 5);
    t.is(Number(next.fence.revision), 1);
  });

  const differing = {
    'its revision is one that the store does not have': (fence: Fence) => after(fence, 3),
    'its epoch is another one': (fence: Fence) => ({ ...fence, epoch: epoch(fence.epoch + 1) }),
    'its activation is another one': (fence: Fence) => ({ ...fence, activationId: activationId('twin') }),
  };
  for (const [how, changed] of Object.entries(differing)) {
    test(`${implementation}: of a batch that matches otherwise, a write is fenced if ${how}`, async (t) => {
      const { one, other } = await open(t);
      const [good, bad] = [counterAddress(), counterAddress()];
      const [{ fence }, { fence: rightly }] = [
        await activated(one, good, 'a'),
        await activated(one, bad, 'a'),
      ];
      t.deepEqual(await outcomes(one, adding(fence, 5), adding(changed(rightly), 6)), ['written', 'fenced']);
      t.is((await activated(other, good, 'b')).loaded, 5);
      t.is((await activated(other, bad, 'b')).loaded, 0);
    });
  }

  test(`${implementation}: a batch that is submitted again writes what is new in it, and nothing twice`, async (t) => {
    const { one, other } = await open(t);
    const [made, fresh] = [counterAddress(), counterAddress()];
    const owned = [await activated(one, made, 'a'), await activated(one, fresh, 'a')] as const;
    const first = adding(owned[0].fence, 5);
    await one.write([first]);
    t.deepEqual(await one.write([first, adding(owned[1].fence, 6)]), [
      { outcome: 'written', result: undefined },
      { outcome: 'written', result: 6 },
    ]);
    t.is(Number((await activated(other, made, 'b')).fence.revision), 1);
  });

  test(`${implementation}: the stamp of a turn blocks activations until it is cleared`, async (t) => {
    const { one, other } = await open(t);
    const address = counterAddress();
    const { fence } = await activated(one, address, 'a');
    const busy = { set: 'busy', process: processId('p1'), forMs: 60_000 } as const;
    await one.write([{ fence, stamp: busy, write: undefined }]);
    const refused = await other.activate(activation(address, 'b'));
    if (refused.outcome !== 'busy') throw new Error('not busy');
    t.is(refused.process, processId('p1'));
    t.true(refused.remainingMs > 50_000 && refused.remainingMs <= 60_000);
    t.deepEqual(
      await outcomes(one, adding(after(fence), 5)),
      ['written'],
      'the stamped activation can still write',
    );
    t.is(
      (await other.activate(activation(address, 'b'))).outcome,
      'busy',
      'a write without a stamp keeps it',
    );
    await one.write([{ fence: after(fence, 2), stamp: { set: 'free' }, write: undefined }]);
    t.is((await activated(other, address, 'b')).loaded, 5);
  });

  test(`${implementation}: a stamp is ignored when its process is surely gone or its time is over`, async (t) => {
    const { one, other } = await open(t);
    const address = counterAddress();
    const { fence } = await activated(one, address, 'a');
    await one.write([
      { fence, stamp: { set: 'busy', process: processId('p1'), forMs: 60_000 }, write: undefined },
    ]);
    const second = await other.activate(activation(address, 'b', ['p1']));
    if (second.outcome !== 'activated') throw new Error('busy');
    t.deepEqual(await outcomes(one, adding(after(fence), 5)), ['fenced']);
    const stamped = {
      fence: second.fence,
      stamp: { set: 'busy', process: processId('p2'), forMs: 50 },
      write: undefined,
    } as const;
    await other.write([stamped]);
    const third = await eventually(
      async () => {
        const answer = await one.activate(activation(address, 'c'));
        return answer.outcome === 'activated' ? answer : undefined;
      },
      { what: 'the stamp has expired' },
    );
    t.is(Number(third.fence.epoch), 3);
  });

  test(`${implementation}: concurrent activations get different epochs, and only the newest can write`, async (t) => {
    const { one, other } = await open(t);
    const address = counterAddress();
    const all = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        activated(index % 2 === 0 ? one : other, address, `a${index}`),
      ),
    );
    const epochs = all.map(({ fence }) => Number(fence.epoch));
    t.deepEqual(
      epochs.toSorted((a, b) => a - b),
      [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
    );
    for (const { fence } of all) {
      t.deepEqual(await outcomes(one, adding(fence, 1)), [fence.epoch === 10 ? 'written' : 'fenced']);
    }
  });

  test(`${implementation}: an activation concurrent with a write loads it if acknowledged, and never sees a fenced one`, async (t) => {
    const { one, other } = await open(t);
    const address = counterAddress();
    let { fence, loaded: sum } = await activated(one, address, 'a0');
    let won = 0;
    for (let round = 1; round <= 60; round += 1) {
      const [[written], next] = await Promise.all([
        one.write([adding(fence, sum + 1)]),
        activated(other, address, `a${round}`),
      ]);
      if (written?.outcome === 'written') won += 1;
      // An acknowledged write is loaded; a fenced write never appears.
      const expected = written?.outcome === 'written' ? sum + 1 : sum;
      t.is(next.loaded, expected, `round ${round}`);
      ({ fence } = next);
      sum = next.loaded;
    }
    t.is((await activated(one, address, 'last')).loaded, sum);
    t.log(`${won} of 60 writes committed before the activation`);
  });
}
