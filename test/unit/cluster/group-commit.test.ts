import test from 'ava';
import { clusterConfig } from '../../../cluster/config.js';
import { ClusterError } from '../../../cluster/errors.js';
import type { Fence, FencedWrite, FenceStore, WriteOutcome } from '../../../cluster/fencing/fence.js';
import { GroupCommit } from '../../../cluster/fencing/group-commit.js';
import { activationId, actorAddress, actorKind, epoch, revision } from '../../../cluster/ids/ids.js';
import { SeededRandom, VirtualTime } from '../../../cluster/simulation/virtual-time.js';

const config = clusterConfig();

type Outcomes = (batch: readonly FencedWrite<string>[]) => readonly WriteOutcome<string>[] | Error;

/** A store that answers each batch as the test says. */
class ScriptedStore implements FenceStore<undefined, undefined, string, string> {
  readonly batches: (readonly FencedWrite<string>[])[] = [];
  delayMs = 5;
  answer: Outcomes = (batch) => batch.map(({ write }) => ({ outcome: 'written', result: write ?? '' }));
  combine: ((earlier: string, later: string) => string) | undefined;
  bytesOf: ((write: string) => number) | undefined;
  readonly #time: VirtualTime;

  constructor(time: VirtualTime) {
    this.#time = time;
  }

  activate(): never {
    throw new Error('the test makes its fences itself');
  }

  write(batch: readonly FencedWrite<string>[]): Promise<readonly WriteOutcome<string>[]> {
    this.batches.push(batch);
    return new Promise((resolve, reject) => {
      this.#time.after(this.delayMs, () => {
        const outcomes = this.answer(batch);
        if (outcomes instanceof Error) reject(outcomes);
        else resolve(outcomes);
      });
    });
  }
}

function setUp() {
  const time = new VirtualTime();
  const store = new ScriptedStore(time);
  const commits = new GroupCommit(store, config, time, new SeededRandom(5));
  const holder = (key: string) => commits.holder(fenceOf(key));
  return { time, store, holder };
}

function fenceOf(key: string): Fence {
  const address = actorAddress(actorKind('test.Actor'), 'acme', key);
  return { address, epoch: epoch(1), activationId: activationId(`activation-${key}`), revision: revision(0) };
}

async function settled<Value>(time: VirtualTime, work: Promise<Value>): Promise<Value | Error> {
  let outcome: Value | Error | undefined;
  work.then(
    (value) => (outcome = value),
    (error: unknown) => (outcome = error instanceof Error ? error : new Error(String(error))),
  );
  await time.until(() => outcome !== undefined, 60_000);
  return outcome ?? new Error('unreachable');
}

const unknown = new Error('the answer was lost');

test('a write of unknown outcome is submitted again with the same fence until the store answers, and not before is it told', async (t) => {
  const { time, store, holder } = setUp();
  const actor = holder('a');
  store.answer = () => unknown;
  let told = false;
  const writing = actor.write('x', undefined).then((committed) => {
    told = true;
    return committed;
  });
  await time.advance(2_000);
  t.false(told);
  t.true(store.batches.length > 1);
  t.deepEqual(new Set(store.batches.flat().map(({ fence }) => fence.revision)), new Set([revision(0)]));
  store.answer = (batch) => batch.map(() => ({ outcome: 'written', result: undefined }));
  t.deepEqual(await settled(time, writing), { outcome: 'result_lost' });
  t.is(actor.fence.revision, revision(1));
  t.false(actor.lost);
});

test('at the deadline of a write whose outcome stays unknown its actor ends, and writes no more', async (t) => {
  const { time, store, holder } = setUp();
  const actor = holder('a');
  const lost: string[] = [];
  actor.onLost((error) => lost.push(error.tag));
  store.answer = () => unknown;
  const writing = actor.write('x', undefined);
  const startedMs = time.monotonicMs();
  const outcome = await settled(time, writing);
  const tookMs = time.monotonicMs() - startedMs;
  t.true(outcome instanceof Error && outcome.message.includes('outcome_unknown'));
  t.true(tookMs >= config.statementTimeoutMs && tookMs < config.statementTimeoutMs + 3_000, `${tookMs} ms`);
  t.deepEqual(lost, ['outcome_unknown']);
  t.true(actor.lost);
  const batches = store.batches.length;
  t.true((await settled(time, actor.write('y', undefined))) instanceof Error);
  await time.advance(5_000);
  t.is(store.batches.length, batches);
});

test('merged writes give up with the oldest of them', async (t) => {
  const { time, store, holder } = setUp();
  store.combine = (earlier, later) => earlier + later;
  const actor = holder('a');
  store.delayMs = 9_000;
  const slow = settled(time, actor.write('a', undefined));
  await time.advance(100);
  const oldest = settled(time, actor.write('b', undefined));
  await time.advance(8_000);
  const newest = settled(time, actor.write('c', undefined));
  t.deepEqual(await slow, { outcome: 'committed', result: 'a' });
  store.delayMs = 5;
  store.answer = (batch) => batch.map(({ write }) => ({ outcome: 'held_up', error: new Error(write ?? '') }));
  t.true((await oldest) instanceof Error);
  t.true((await newest) instanceof Error);
  t.true(time.monotonicMs() < 100 + config.statementTimeoutMs + 3_000, `${time.monotonicMs()} ms`);
});

test('a write whose fence does not match ends its actor, and leaves its neighbours alone', async (t) => {
  const { time, store, holder } = setUp();
  const [fenced, other] = [holder('fenced'), holder('other')];
  const lost: string[] = [];
  fenced.onLost((error) => lost.push(error.tag));
  store.answer = (batch) =>
    batch.map(({ fence, write }) =>
      fence.address.key === 'fenced'
        ? { outcome: 'fenced' }
        : { outcome: 'written', result: `${write ?? ''} done` },
    );
  const outcomes = await Promise.all([
    settled(time, fenced.write('x', undefined)),
    settled(time, other.write('y', undefined)),
  ]);
  t.true(outcomes[0] instanceof Error && outcomes[0].message.includes('fenced'));
  t.deepEqual(outcomes[1], { outcome: 'committed', result: 'y done' });
  t.deepEqual(lost, ['fenced']);
});

test('an actor has one write in flight, and the next expects the revision that it made', async (t) => {
  const { time, store, holder } = setUp();
  const actor = holder('a');
  const writes = [1, 2, 3].map((number) => settled(time, actor.write(`w${number}`, undefined)));
  await Promise.all(writes);
  t.deepEqual(
    store.batches.map((batch) => batch.map(({ fence, write }) => [Number(fence.revision), write])),
    [[[0, 'w1']], [[1, 'w2']], [[2, 'w3']]],
  );
});

test('an activation that has ended is told nothing of a write that commits later', async (t) => {
  const { time, holder } = setUp();
  const actor = holder('a');
  const writing = settled(time, actor.write('x', undefined));
  await time.advance(1);
  actor.close(new ClusterError('moved', 'the actor moved'));
  const outcome = await writing;
  t.true(outcome instanceof Error && outcome.message.includes('moved'));
});

test('the newest stamp of merged writes counts', async (t) => {
  const { time, store, holder } = setUp();
  store.combine = (earlier, later) => earlier + later;
  const actor = holder('a');
  const first = settled(time, actor.write('a', undefined));
  await time.advance(1);
  const later = [
    settled(time, actor.write('b', undefined)),
    settled(time, actor.write('c', { set: 'free' })),
  ];
  await Promise.all([first, ...later]);
  t.deepEqual(
    store.batches.map((batch) => batch.map(({ write, stamp }) => [write, stamp])),
    [[['a', undefined]], [['bc', { set: 'free' }]]],
  );
});

test('a write that another transaction holds up delays no other', async (t) => {
  const { time, store, holder } = setUp();
  const [held, other] = [holder('held'), holder('other')];
  store.answer = (batch) =>
    batch.map(({ fence, write }) =>
      fence.address.key === 'held'
        ? { outcome: 'held_up', error: new Error('a row is locked') }
        : { outcome: 'written', result: write ?? '' },
    );
  const holding = settled(time, held.write('x', undefined));
  const startedMs = time.monotonicMs();
  for (let number = 0; number < 20; number += 1) {
    const committed = await settled(time, other.write(`w${number}`, undefined));
    t.deepEqual(committed, { outcome: 'committed', result: `w${number}` });
  }
  t.true(time.monotonicMs() - startedMs < 1_000, `${time.monotonicMs() - startedMs} ms`);
  store.answer = (batch) => batch.map(({ write }) => ({ outcome: 'written', result: write ?? '' }));
  t.deepEqual(await holding, { outcome: 'committed', result: 'x' });
});

test('a batch ends where its bytes would pass the bound, in the order of arrival, and a larger write goes alone', async (t) => {
  const { time, store, holder } = setUp();
  const bound = config.writeBatchBytesMax;
  const sizes: Readonly<Record<string, number>> = {
    half: bound / 2,
    whole: bound,
    double: bound * 2,
    small: 1,
  };
  store.bytesOf = (write) => sizes[write] ?? 0;
  // Both batches are in flight, so that the others wait.
  const first = settled(time, holder('first').write('none', undefined));
  await time.advance(1);
  const second = settled(time, holder('second').write('none', undefined));
  await time.advance(1);
  const names = ['half', 'half', 'small', 'whole', 'small', 'double', 'small', 'small'];
  const written = names.map((name, place) => settled(time, holder(`later-${place}`).write(name, undefined)));
  await time.advance(1_000);
  t.deepEqual(
    await Promise.all([first, second, ...written]),
    ['none', 'none', ...names].map((result) => ({ outcome: 'committed', result })),
  );
  t.deepEqual(
    store.batches.slice(2).map((batch) => batch.map(({ write }) => write)),
    [['half', 'half'], ['small'], ['whole'], ['small'], ['double'], ['small', 'small']],
  );
});
