import test from 'ava';
import { systemRandom, systemTime } from '../../../../cluster/index.js';
import type { Envelope } from '../../../../src/conversations/realtime/index.js';
import { Hub } from '../../../../src/conversations/realtime/hub.js';
import { openChangeFeed, openHotReads, openStore, type Store } from '../../../../src/infra/storage/index.js';
import { insertTenant } from '../../../support/builders/callers.js';
import { databaseOfFile } from '../../../support/database/database.js';
import { eventually } from '../../../support/clocks/eventually.js';
import { report } from '../../../support/servers/realtime.js';

const database = databaseOfFile(test);
let store: Store;
let hub: Hub;

test.serial.before(async () => {
  store = await openStore({ databaseUrl: database.url });
  const reads = openHotReads({ databaseUrl: database.url, time: systemTime });
  const feed = await openChangeFeed({
    databaseUrl: database.url,
    time: systemTime,
    random: systemRandom,
    onProblem: () => undefined,
  });
  hub = new Hub({ feed, reads, time: systemTime, publish: () => undefined, report: () => undefined });
  database.atEnd(async () => {
    hub.stop();
    await feed.close();
    await reads.close();
    await store.close();
  });
});

const numberOf = (event: Envelope): number => Number(event.data['message_id']);

test('events published while a reader catches up reach it before it joins', async (t) => {
  const scope = await insertTenant(store);
  const leave = [hub.enter(scope), hub.enter(scope)];
  t.teardown(() => leave.forEach((end) => end()));
  const others: number[] = [];
  hub.listen(scope, { receive: (event) => void others.push(numberOf(event)) });
  await report(store, scope, 1);
  await eventually(() => others.length === 1);
  const told: number[] = [];
  await hub.join({
    scope,
    after: 0,
    missed: async (events) => {
      told.push(...events.map(numberOf));
      if (told.length > 3) return;
      // A slow reader: meanwhile the others receive the next event.
      const next = told.length + 1;
      await report(store, scope, next);
      await eventually(() => others.at(-1) === next);
    },
    joined: () => void told.push(0),
    gone: new AbortController().signal,
  });
  t.deepEqual(told, [1, 2, 3, 4, 0]);
});

test('a reader ahead of the published events advances them first, so that nothing repeats', async (t) => {
  t.plan(21);
  const scope = await insertTenant(store);
  const leave = [hub.enter(scope), hub.enter(scope)];
  t.teardown(() => leave.forEach((end) => end()));
  const heard: number[] = [];
  hub.listen(scope, { receive: (event) => void heard.push(numberOf(event)) });
  const told: number[] = [];
  for (let number = 1; number <= 20; number += 1) {
    await report(store, scope, number);
    const before = heard.length;
    await hub.join({
      scope,
      after: 0,
      missed: async (events) => void ((told.length = 0), told.push(...events.map(numberOf))),
      joined: () => t.deepEqual(told, heard, `after ${before} were handed out`),
      gone: new AbortController().signal,
    });
  }
  t.is(heard.length, 20);
});

test('a reader that leaves while catching up does not join', async (t) => {
  const scope = await insertTenant(store);
  t.teardown(hub.enter(scope));
  await report(store, scope, 1);
  const leaving = new AbortController();
  leaving.abort();
  await hub.join({
    scope,
    after: 0,
    missed: async () => undefined,
    joined: () => t.fail('somebody who is gone has joined'),
    gone: leaving.signal,
  });
  t.pass();
});

test('one tenant cannot take all the connections of a node', async (t) => {
  const scope = await insertTenant(store);
  const leave = Array.from({ length: 1_000 }, () => hub.enter(scope));
  t.throws(() => hub.admit(scope), { message: /1000 realtime connections/ });
  const other = await insertTenant(store);
  t.notThrows(() => hub.admit(other));
  leave.pop()?.();
  t.notThrows(() => hub.admit(scope));
  for (const end of leave) end();
});
