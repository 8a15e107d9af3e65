import test from 'ava';
import pg from 'pg';
import { z } from 'zod';
import {
  realtimeStatement,
  type RealtimeEventRow,
  recordRealtimeEvent,
} from '../../../../src/conversations/realtime/index.js';
import { randomUUID } from 'node:crypto';
import { sql } from '../../../../src/infra/storage/index.js';
import { databaseOfFile } from '../../../support/database/database.js';
import { eventually } from '../../../support/clocks/eventually.js';
import {
  dataOf,
  eventOf,
  idsOf,
  numbersOf,
  type RealtimeBench,
  report,
  startRealtime,
} from '../../../support/servers/realtime.js';

const database = databaseOfFile(test);
let bench: RealtimeBench;
let secondNode: RealtimeBench;

test.serial.before(async () => {
  bench = await startRealtime(database);
  secondNode = await startRealtime(database);
});

const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1);

test('an event reaches sockets and streams on every node, in the envelope', async (t) => {
  const scope = await bench.newTenant();
  const sockets = [await bench.socket(scope), await secondNode.socket(scope)];
  const streams = [await bench.stream(scope), await secondNode.stream(scope)];
  await bench.store.inTenant(scope, (tx) =>
    recordRealtimeEvent(tx, {
      type: 'turn_cancelled',
      data: { session_id: 's', execution_id: 'e', by: 'key:k' },
    }),
  );
  await eventually(() => sockets.every(({ messages }) => messages.length === 1));
  await eventually(() => streams.every(({ events }) => events().length === 1));
  const [text = ''] = sockets[0]?.messages ?? [];
  const told = JSON.parse(text) as Record<string, unknown>;
  t.deepEqual(Object.keys(told), ['id', 'type', 'tenant_id', 'at', 'data']);
  t.is(told['type'], 'turn_cancelled');
  t.is(told['tenant_id'], scope.tenantId);
  t.deepEqual(told['data'], { session_id: 's', execution_id: 'e', by: 'key:k' });
  t.true(Math.abs(Date.parse(String(told['at'])) - Date.now()) < 60_000);
  for (const { messages } of sockets) t.deepEqual(messages, [text]);
  for (const { events } of streams)
    t.deepEqual(events(), [`id: ${String(told['id'])}\nevent: turn_cancelled\ndata: ${text}`]);
});

test('an event of a transaction without a commit is never sent', async (t) => {
  const scope = await bench.newTenant();
  const socket = await bench.socket(scope);
  await t.throwsAsync(
    bench.store.inTenant(scope, async (tx) => {
      await recordRealtimeEvent(tx, eventOf(1));
      throw new Error('planned');
    }),
  );
  await report(bench.store, scope, 2);
  await eventually(() => socket.messages.length > 0);
  t.deepEqual(numbersOf(socket.messages), [2]);
});

test("no caller receives another tenant's events, whatever id they name", async (t) => {
  const [mine, theirs] = [await bench.newTenant(), await bench.newTenant()];
  await report(bench.store, theirs, 1);
  const socket = await bench.socket(mine, '0');
  const stream = await bench.stream(mine, '0');
  for (let number = 2; number <= 20; number += 1) {
    await report(bench.store, theirs, number);
    if (number % 5 === 0) await report(bench.store, mine, number);
  }
  await eventually(() => socket.messages.length === 4 && stream.events().length === 4);
  t.deepEqual(numbersOf(socket.messages), [5, 10, 15, 20]);
  t.deepEqual(numbersOf(dataOf(stream.events())), [5, 10, 15, 20]);
  t.true([...socket.messages, ...stream.events()].every((text) => !text.includes(theirs.tenantId)));
});

test('a client that returns to any node with its last id gets each missed event once', async (t) => {
  const scope = await bench.newTenant();
  const first = await bench.socket(scope);
  for (const number of upTo(3)) await report(bench.store, scope, number);
  await eventually(() => first.messages.length === 3);
  first.close();
  const ids = idsOf(first.messages);
  for (const number of [4, 5]) await report(bench.store, scope, number);
  for (const node of [secondNode, bench]) {
    for (const [index, id] of ids.entries()) {
      const socket = await node.socket(scope, id);
      const stream = await node.stream(scope, id);
      const missed = [1, 2, 3, 4, 5].slice(index + 1);
      await eventually(
        () => socket.messages.length === missed.length && stream.events().length === missed.length,
      );
      t.deepEqual(numbersOf(socket.messages), missed);
      t.deepEqual(numbersOf(dataOf(stream.events())), missed);
      socket.close();
      stream.close();
    }
  }
});

test('a browser that reconnects uses the header, not its address', async (t) => {
  const scope = await bench.newTenant();
  for (const number of upTo(3)) await report(bench.store, scope, number);
  const all = await bench.stream(scope, '0');
  await eventually(() => all.events().length === 3);
  const [, second = ''] = idsOf(dataOf(all.events()));
  const { openEvents } = await import('../../../support/clients/sockets.js');
  const again = await openEvents(`${bench.url}/api/v1/realtime/events?last_event_id=0`, {
    ...bench.as(scope),
    'last-event-id': second,
  });
  await eventually(() => again.events().length === 1);
  t.deepEqual(numbersOf(dataOf(again.events())), [3]);
});

test('an invalid id starts with the oldest event; a client without an id starts with the next one', async (t) => {
  const scope = await bench.newTenant();
  const witness = await bench.socket(scope);
  await report(bench.store, scope, 1);
  const lost = await bench.socket(scope, 'nonsense');
  // Kept events are read from the store and may arrive before this node publishes them. Only after the witness has received
  // event 1 is it certain that a newcomer does not receive it again.
  await eventually(() => witness.messages.length === 1 && lost.messages.length === 1);
  const fresh = await bench.socket(scope);
  await report(bench.store, scope, 2);
  await eventually(() => fresh.messages.length === 1 && lost.messages.length === 2);
  t.deepEqual(numbersOf(fresh.messages), [2]);
});

test('an id from the future waits for nothing and loses nothing', async (t) => {
  const scope = await bench.newTenant();
  const socket = await bench.socket(scope, '999999999999');
  // It joins after a bounded time and receives events from then on.
  let number = 0;
  await eventually(
    async () => {
      await report(bench.store, scope, (number += 1));
      return socket.messages.length > 0;
    },
    { everyMs: 100 },
  );
  const first = numbersOf(socket.messages)[0] ?? 0;
  await eventually(() => socket.messages.length === number - first + 1);
  t.deepEqual(
    numbersOf(socket.messages),
    upTo(number).filter((one) => one >= first),
  );
});

test('events during many joins and returns reach each reader once, in order', async (t) => {
  t.timeout(300_000);
  const scope = await bench.newTenant();
  const total = 400;
  const patience = { timeoutMs: 200_000, everyMs: 50 };
  const writing = (async () => {
    for (const number of upTo(total))
      await report(number % 2 === 0 ? bench.store : secondNode.store, scope, number);
  })();
  const readers: Promise<number[]>[] = [];
  for (let index = 0; index < 24; index += 1) {
    const node = index % 2 === 0 ? bench : secondNode;
    readers.push(
      (async () => {
        if (index % 4 < 2) {
          const socket = await node.socket(scope, '0');
          await eventually(() => socket.messages.length >= total, patience);
          return numbersOf(socket.messages);
        }
        // Leaves in the middle and continues at another node.
        const first = await node.stream(scope, '0');
        await eventually(() => first.events().length > index * 5, { ...patience, everyMs: 5 });
        const before = dataOf(first.events());
        first.close();
        const other = node === bench ? secondNode : bench;
        const again = await other.stream(scope, idsOf(before).at(-1));
        await eventually(() => before.length + again.events().length >= total, patience);
        return numbersOf([...before, ...dataOf(again.events())]);
      })(),
    );
    await eventually(() => true);
  }
  await writing;
  for (const numbers of await Promise.all(readers)) t.deepEqual(numbers, upTo(total));
});

test('actors report for many tenants in one statement, and a repeated write reports once', async (t) => {
  const scopes = [await bench.newTenant(), await bench.newTenant()];
  const sockets = await Promise.all(scopes.map((scope) => bench.socket(scope)));
  const rows: RealtimeEventRow[] = scopes.flatMap(({ tenantId: tenant_id }) =>
    [1, 2].map((number) => ({ tenant_id, id: randomUUID(), ...eventOf(number) })),
  );
  const writer = new pg.Client({ connectionString: database.url, options: '-c role=troupe_writer' });
  await writer.connect();
  t.teardown(() => writer.end());
  for (let attempt = 0; attempt < 2; attempt += 1)
    await writer.query({ ...realtimeStatement, values: [JSON.stringify(rows)] });
  for (const scope of scopes) await report(bench.store, scope, 3);
  await eventually(() => sockets.every(({ messages }) => messages.length >= 3));
  for (const { messages } of sockets) t.deepEqual(numbersOf(messages), [1, 2, 3]);
});

test.serial('events older than ten minutes are neither sent nor kept', async (t) => {
  const scope = await bench.newTenant();
  for (const number of upTo(3)) await report(bench.store, scope, number);
  const owner = new pg.Client({ connectionString: database.url });
  await owner.connect();
  t.teardown(() => owner.end());
  // The owner of the tables is bound by the same walls: one policy for this, and gone again.
  await owner.query('alter table realtime_events no force row level security');
  await owner.query(
    `update realtime_events set at = at - interval '10 minutes 1 second'
      where tenant_id = $1 and data ->> 'message_id' in ('1', '2')`,
    [scope.tenantId],
  );
  await owner.query('alter table realtime_events force row level security');
  const socket = await bench.socket(scope, '0');
  await eventually(() => socket.messages.length > 0);
  t.deepEqual(numbersOf(socket.messages), [3]);
  const { removeOld } = await import('../../../../src/conversations/realtime/realtime.store.js');
  await removeOld(bench.store, 1);
  const left = await bench.store.inTenant(scope, (tx) =>
    tx.anyFirst(sql.type(z.object({ number: z.string() }))`
      select data ->> 'message_id' as number from realtime_events where tenant_id = ${scope.tenantId}`),
  );
  t.deepEqual([...left], ['3']);
});

test('a stopping node ends its streams and sockets at once', async (t) => {
  const leaving = await startRealtime(database);
  const scope = await bench.newTenant();
  const [socket, stream] = [await leaving.socket(scope), await leaving.stream(scope)];
  const startedAt = performance.now();
  await leaving.leave();
  await eventually(() => socket.closedWith() === 1001 && stream.ended());
  t.true(performance.now() - startedAt < 30_000, 'nobody waited for the streams to end by themselves');
});
