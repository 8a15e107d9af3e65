// The places of a hub's channels, with a feed and a store of the test's own.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import { type Joining, Hub, type HubParts } from '../../../../src/conversations/realtime/hub.js';
import type { StoredEvent } from '../../../../src/conversations/realtime/events.js';
import type { ChangeSubscriber } from '../../../../src/infra/storage/index.js';
import { tenantScope } from '../../../../src/kernel/tenant-scope.js';
import { eventually } from '../../../support/clocks/eventually.js';
import { ManualTime } from '../../../support/clocks/manual-time.js';

const scope = tenantScope(randomUUID());

/** A database whose readings wait while the test holds them. */
class Surroundings {
  rows: StoredEvent[] = [];
  position: number;
  readonly published: number[] = [];
  #subscriber: ChangeSubscriber | undefined;
  readonly #held: (() => void)[] = [];
  #holds = false;
  readonly hub: Hub;

  constructor(position: number) {
    this.position = position;
    const feed = (): number => this.position;
    const parts: HubParts = {
      feed: {
        get position() {
          return feed();
        },
        subscribe: (_topic, subscriber) => {
          this.#subscriber = subscriber;
          return () => undefined;
        },
        reached: () => Promise.resolve(true),
      },
      reads: {
        inTenant: async (_scope, { row }, [, after]) => {
          const found = this.rows.filter(({ number }) => number > Number(after));
          if (this.#holds) await new Promise<void>((resolve) => this.#held.push(resolve));
          return found.map((one) => row.parse(one));
        },
      },
      time: new ManualTime('2026-01-01T00:00:00Z'),
      publish: (_topic, text) => void this.published.push(Number((JSON.parse(text) as { id: string }).id)),
      report: (attempted, error) => {
        throw new Error(attempted, { cause: error });
      },
    };
    this.hub = new Hub(parts);
  }

  insert(...numbers: readonly number[]): void {
    for (const number of numbers) {
      this.rows.push({ number, type: 'turn_cancelled', data: {}, at: new Date(0) });
      this.position = number;
      this.#subscriber?.onChange({ number, topic: 'realtime', tenantId: scope.tenantId, subject: '' });
    }
  }

  /** The database has the state of an earlier time. */
  restore(position: number): void {
    this.rows = this.rows.filter(({ number }) => number <= position);
    this.position = position;
    this.#subscriber?.onDropEverything();
  }

  /** Readings have their rows from now on, and bring them when they are let go. */
  hold(): void {
    this.#holds = true;
  }

  get held(): number {
    return this.#held.length;
  }

  letGo(): void {
    this.#holds = false;
    for (const resolve of this.#held.splice(0)) resolve();
  }

  /** A reader that joins, and gets its numbers from then on. */
  async join(numbers: number[], more: Partial<Joining> = {}): Promise<void> {
    await this.hub.join({
      scope,
      after: undefined,
      missed: async (events) => void numbers.push(...events.map(({ id }) => Number(id))),
      joined: () => void this.hub.listen(scope, { receive: ({ id }) => void numbers.push(Number(id)) }),
      gone: new AbortController().signal,
      ...more,
    });
  }
}

test('events of a restored database reach readers under the numbers that come again', async (t) => {
  const world = new Surroundings(1_000);
  world.hub.enter(scope);
  const numbers: number[] = [];
  await world.join(numbers);
  world.restore(500);
  world.insert(501, 502, 503);
  await eventually(() => numbers.length === 3);
  t.deepEqual(numbers, [501, 502, 503]);
  t.deepEqual(world.published, [501, 502, 503]);
  const later: number[] = [];
  await world.join(later);
  world.insert(504);
  await eventually(() => later.length === 1);
  t.deepEqual(numbers, [501, 502, 503, 504]);
  t.deepEqual(later, [504]);
});

test('a reading that the restoring overtakes does not count', async (t) => {
  const world = new Surroundings(1_000);
  world.hub.enter(scope);
  const numbers: number[] = [];
  await world.join(numbers);
  world.hold();
  world.insert(1_001);
  await eventually(() => world.held === 1);
  world.restore(500);
  world.insert(501);
  world.letGo();
  await eventually(() => numbers.length > 0);
  t.deepEqual(numbers, [501]);
  world.insert(502);
  await eventually(() => numbers.length === 2);
  t.deepEqual(numbers, [501, 502]);
});

test('a reader that catches up during the restoring joins at the new numbers', async (t) => {
  const world = new Surroundings(900);
  world.insert(950, 1_000);
  world.hub.enter(scope);
  world.hold();
  const numbers: number[] = [];
  const joining = world.join(numbers, { after: 900 });
  await eventually(() => world.held === 1);
  world.restore(500);
  world.letGo();
  await joining;
  world.insert(501);
  await eventually(() => numbers.length === 1);
  t.deepEqual(numbers, [501]);
});

test('a reading for a reader that left hands nothing out to the next one', async (t) => {
  const world = new Surroundings(10);
  const leave = world.hub.enter(scope);
  await world.join([]);
  world.hold();
  world.insert(11);
  await eventually(() => world.held === 1);
  leave();
  world.hub.enter(scope);
  const numbers: number[] = [];
  const joining = world.join(numbers, { after: 10 });
  await eventually(() => world.held === 2);
  world.letGo();
  await joining;
  world.insert(12);
  await eventually(() => world.published.includes(12));
  t.deepEqual(numbers, [11, 12]);
  t.deepEqual(world.published, [12], 'sockets of both have one topic');
});
