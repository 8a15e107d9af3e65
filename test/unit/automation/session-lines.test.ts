import test from 'ava';
import { SessionLines, type WaitingMessage } from '../../../src/automation/inbox/session-lines.js';
import { forget } from '../../../src/automation/inbox/message-reader.js';
import { tenantScope } from '../../../src/kernel/tenant-scope.js';

const id = '00000000-0000-4000-8000-000000000001';

function message(seq: number, sessionId = 'session', tenant = id): WaitingMessage {
  const work = { message: `message ${seq}`, context: {}, requestId: 'r' };
  const row = { trigger_id: id, key: `key ${seq}`, seq };
  const place = {
    scope: tenantScope(tenant),
    triggerId: id,
    sessionId,
    executionId: `execution ${tenant} ${seq}`,
  };
  return { item: { ...place, work, row, attempts: 1, ageMs: 0 }, readAtMs: 0 };
}

function lines() {
  const begun: (number | undefined)[] = [];
  const given: (number | undefined)[] = [];
  const made = new SessionLines({
    begin: ({ item: { row } }) => void begun.push(row?.seq),
    forget,
    giveBack: ({ item: { row } }) => void given.push(row?.seq),
  });
  return { made, begun, given };
}

test('messages of a session begin one after the other, in the order of acceptance', (t) => {
  const { made, begun } = lines();
  const all = [3, 5, 4, 6].map((seq) => message(seq));
  for (const one of all) made.ask(one);
  made.ask(message(9, 'another session'));
  t.deepEqual(begun, [3, 9]);
  made.passed(message(3).item);
  t.deepEqual(begun, [3, 9, 4]);
  made.passed(message(4).item);
  made.passed(message(5).item);
  t.deepEqual(begun, [3, 9, 4, 5, 6]);
});

test('a message that comes back is before those accepted after it, and waits for none of them', (t) => {
  const { made, begun } = lines();
  made.ask(message(2));
  made.pause(message(2));
  made.ask(message(3));
  made.ask(message(1));
  t.deepEqual(begun, [2, 1]);
  made.again(message(2));
  t.deepEqual(begun, [2, 1], 'one before it is on its way');
  made.passed(message(1).item);
  t.deepEqual(begun, [2, 1, 2]);
  made.again(message(2));
  t.deepEqual(begun, [2, 1, 2], 'it has begun already');
});

test('a message that waits for long behind another waits without its payload', (t) => {
  const begun: WaitingMessage[] = [];
  const made = new SessionLines({
    begin: (waiting) => void begun.push(waiting),
    forget,
    giveBack: () => t.fail(),
  });
  for (const seq of [1, 2]) made.ask(message(seq));
  made.pause(message(1));
  made.ask(message(3));
  for (const seq of [1, 2]) made.passed(message(seq).item);
  t.deepEqual(
    begun.map(({ item }) => [item.row?.seq, item.isUnread ?? false, item.work.message]),
    [
      [1, false, 'message 1'],
      [2, true, ''],
      [3, true, ''],
    ],
  );
});

test('sessions of two tenants with the same id have nothing to do with each other', (t) => {
  const { made, begun } = lines();
  made.ask(message(1));
  made.ask(message(2, 'session', '00000000-0000-4000-8000-000000000002'));
  t.deepEqual(begun, [1, 2]);
});

test('of a session with many messages the newest are left to the store', (t) => {
  const { made, begun, given } = lines();
  for (let seq = 2; seq <= 203; seq += 1) made.ask(message(seq));
  t.deepEqual(given, [202, 203]);
  made.ask(message(1));
  t.deepEqual(given, [202, 203, 201]);
  t.deepEqual(begun, [2, 1], 'an older one finds room');
  t.is([...made.executionIds()].length, 200);
});
