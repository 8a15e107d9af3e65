// Nodes with an exchange in memory, in place of Redis.
import test from 'ava';
import type { CountedWindow, WindowCount, WindowsOfOthers } from '../../../../src/infra/storage/index.js';
import type { Admitted } from '../../../../src/http/operations/index.js';
import { ClientWindows } from '../../../../src/tenancy/quota/client-windows.js';
import { WindowExchange } from '../../../../src/tenancy/quota/window-exchange.js';
import { ManualTime } from '../../../support/clocks/manual-time.js';

const limit = 120;

class Together {
  readonly time = new ManualTime('2026-11-21T10:00:00Z');
  readonly reported = new Map<string, Map<number, { count: WindowCount; atMs: number }>>();
  exchanges = 0;
  windowsEach: number[] = [];
  isAway = false;
  unanswered = 0;
  readonly nodes: ClientWindows[];

  constructor(count: number) {
    this.nodes = Array.from({ length: count }, (_, node) => {
      const exchange = new WindowExchange(
        this.time,
        (counted) => this.#exchange(node, counted),
        undefined,
        () => (this.unanswered += 1),
      );
      return new ClientWindows('address', { time: this.time, windowsMax: 1_000, exchange });
    });
    // Each node says that it counts.
    this.time.advance(0);
  }

  async settle(): Promise<void> {
    for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  }

  async #exchange(node: number, counted: readonly CountedWindow[]): Promise<WindowsOfOthers | undefined> {
    this.exchanges += 1;
    this.windowsEach.push(counted.length);
    if (this.isAway) return undefined;
    const nowMs = this.time.monotonicMs();
    const windows = counted.map(({ name, ...count }) => {
      const window = this.reported.get(name) ?? new Map<number, { count: WindowCount; atMs: number }>();
      this.reported.set(name, window.set(node, { count, atMs: nowMs }));
      const others = [...window].filter(([one]) => one !== node).map(([, other]) => other);
      return {
        agesMs: others.flatMap(({ count: { agesMs }, atMs }) => agesMs.map((age) => age + nowMs - atMs)),
        counts: others.flatMap(({ count: { counts } }) => counts),
      };
    });
    return { nodes: this.nodes.length, windows };
  }
}

const admittedOf = (answers: readonly Admitted[]) =>
  answers.filter(({ refusal }) => refusal === undefined).length;

test('three nodes admit a limit within a tenth, at once and one after another', async (t) => {
  for (const isAtOnce of [true, false]) {
    const together = new Together(3);
    await together.settle();
    const answers: Admitted[] = [];
    const asking: Promise<void>[] = [];
    for (let request = 0; request < 600; request += 1) {
      const admitted = together.nodes[request % 3]?.count('192.0.2.1', limit);
      if (admitted === undefined) throw new Error('no node');
      const asked = Promise.resolve(admitted).then((answer) => void answers.push(answer));
      if (isAtOnce) asking.push(asked);
      else await asked;
    }
    await Promise.all(asking);
    const admitted = admittedOf(answers);
    t.true(admitted >= limit && admitted <= limit * 1.1, `${admitted} of ${limit}, at once: ${isAtOnce}`);
    for (const { figures } of answers) t.is(figures.limit, limit);
    t.is(answers.at(-1)?.figures.remaining, 0);
  }
});

test('far fewer questions than requests, and none by one who asks little', async (t) => {
  const together = new Together(3);
  await together.settle();
  const before = together.exchanges;
  const [first] = together.nodes;
  if (first === undefined) return t.fail();
  for (let client = 0; client < 900; client += 1) {
    for (let request = 0; request < 3; request += 1) void first.count(`client ${client}`, limit);
  }
  await together.settle();
  t.is(together.exchanges, before, 'below the share of the tenth');
  for (let client = 0; client < 900; client += 1) void first.count(`client ${client}`, limit);
  await together.settle();
  t.is(together.exchanges - before, 18, 'fifty windows in an exchange');
  t.true(Math.max(...together.windowsEach) <= 50);
});

test('the figures of a node follow the others within their share', async (t) => {
  const together = new Together(2);
  const [one, other] = together.nodes;
  if (one === undefined || other === undefined) return t.fail();
  await together.settle();
  for (let request = 0; request < 30; request += 1) await one.count('x', limit);
  await together.settle();
  for (let request = 0; request < 6; request += 1) await other.count('x', limit);
  await together.settle();
  t.is(other.figures('x', limit).remaining, limit - 36);
  t.true(Math.abs(one.figures('x', limit).remaining - (limit - 36)) <= 6);
  // What the others counted leaves the window with its own age.
  together.time.advance(61_000);
  t.is(other.figures('x', limit).remaining, limit);
});

test('a node that cannot ask counts alone, and is told again later', async (t) => {
  const together = new Together(2);
  await together.settle();
  together.isAway = true;
  const [one, other] = together.nodes;
  if (one === undefined || other === undefined) return t.fail();
  const answers: Admitted[] = [];
  for (let request = 0; request < 200; request += 1) answers.push(await one.count('x', limit));
  t.is(admittedOf(answers), limit);
  for (let request = 0; request < 6; request += 1) await other.count('x', limit);
  await together.settle();
  t.is(other.figures('x', limit).remaining, limit - 6);
  const { unanswered } = together;
  t.is(unanswered, together.exchanges - 2, 'each is counted, not only the first');
  together.isAway = false;
  together.time.advance(30_000);
  for (let request = 0; request < 20; request += 1) await other.count('y', limit);
  t.is(together.reported.get('address:y')?.size, 1);
  t.is(together.unanswered, unanswered);
});

test('as many requests wait as have room, and the windows are bounded', async (t) => {
  const together = new Together(3);
  await together.settle();
  const [one] = together.nodes;
  if (one === undefined) return t.fail();
  const asked = Array.from({ length: 500 }, () => one.count('x', limit));
  t.is(asked.filter((answer) => answer instanceof Promise).length, limit - 4);
  t.is(admittedOf(await Promise.all(asked.map((answer) => Promise.resolve(answer)))), limit);
});

test('an idle node reports that it counts every 15 s, and every second without an answer', async (t) => {
  const together = new Together(2);
  await together.settle();
  t.is(together.exchanges, 2, 'at the start');
  for (let second = 0; second < 30; second += 1) {
    together.time.advance(1_000);
    await together.settle();
  }
  t.is(together.exchanges, 6);
  together.isAway = true;
  for (let second = 0; second < 19; second += 1) {
    together.time.advance(1_000);
    await together.settle();
  }
  t.is(together.exchanges, 16, 'the first after 15 s, then four more of each');
});
