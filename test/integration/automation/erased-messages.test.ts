// What an erasure finds of messages that no execution has received, against a real PostgreSQL.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import { systemTime } from '../../../cluster/index.js';
import { acceptTarget } from '../../../src/automation/inbox/accept-target.js';
import { type ForgetAccepted, forgetAccepted } from '../../../src/automation/inbox/erasure.js';
import { flushTarget } from '../../../src/automation/inbox/flush-target.js';
import { messageRows } from '../../../src/automation/inbox/message-rows.js';
import { MessageSealer } from '../../../src/automation/messages/message-payload.js';
import { systemPlatform } from '../../../src/infra/platform/index.js';
import { createSealer } from '../../../src/infra/sealing/index.js';
import { type BatchWriters, openStore, sql, type Store } from '../../../src/infra/storage/index.js';
import { tenantScope } from '../../../src/kernel/tenant-scope.js';
import { insertTakenOver } from '../../support/builders/message-process.js';
import { databaseOfFile } from '../../support/database/database.js';
import { openPatientWriters } from '../../support/database/patient-writers.js';
import { ownerView } from '../../support/database/owner-view.js';

const database = databaseOfFile(test);
const sealer = createSealer({ masterKey: Buffer.alloc(32, 1), random: systemPlatform.random });
const seal = new MessageSealer(sealer);
let store: Store;
let writers: BatchWriters;

/** An erasure whose waits are over at once. */
function erasure(waits: number[] = [], reported: string[] = []): ForgetAccepted {
  const time = {
    ...systemTime,
    after: (ms: number, action: () => void) => {
      waits.push(ms);
      return systemTime.after(0, action);
    },
  };
  const report = (attempted: string): void => void reported.push(attempted);
  return (scope, key) => forgetAccepted({ store, sealer, time, report })(scope, key);
}

const forget = erasure();

test.serial.before(async () => {
  const { url: databaseUrl } = database;
  store = await openStore({ databaseUrl, process: 'p1' });
  writers = openPatientWriters(databaseUrl, 'p1');
  database.atEnd(async () => {
    await writers.close();
    await store.close();
  });
});

/** A tenant's trigger, the messages of which wait in one session or another. */
function inbox() {
  const scope = tenantScope(randomUUID());
  const trigger_id = randomUUID();
  const accepts = writers.writer(acceptTarget);
  const flushes = writers.writer(flushTarget({ holdMs: 60_000, keepMs: 60_000 }));
  return {
    scope,
    trigger_id,
    async say(session_id: string, sender: string, state: 'buffered' | 'running') {
      const row = {
        tenant_id: scope.tenantId,
        trigger_id,
        key: randomUUID(),
        session_id,
        execution_id: state === 'running' ? randomUUID() : null,
        state,
        asks: false,
        payload_hash: '',
        sealed: seal.seal(scope, {
          message: `of ${sender}`,
          context: {},
          consumerKey: sender,
          requestId: 'r',
        }),
        answer: null,
        hold_ms: 60_000,
        keep_ms: 60_000,
      };
      await accepts.write(row);
      return row;
    },
    flush: (session_id: string, execution_id: string) =>
      flushes.write({
        tenant_id: scope.tenantId,
        trigger_id,
        session_id,
        execution_id,
        at_once: true,
        most: 100,
        bytes: 0,
      }),
    async senders(): Promise<readonly string[]> {
      const owner = await ownerView(database.url);
      const { rows } = await owner.query<{ state: string; sealed: Buffer }>(
        'select state, sealed from trigger_inbox where tenant_id = $1 order by seq',
        [scope.tenantId],
      );
      await owner.end();
      const sealed = rows.map((row) => row.sealed).filter((one) => one.length > 0);
      const withoutPayload = rows.filter((row) => row.sealed.length === 0).map(({ state }) => state);
      return [...seal.openEach(scope, sealed).map(({ consumerKey }) => consumerKey ?? ''), ...withoutPayload];
    },
  };
}

test('an erasure finds a person in open and flushed buffers and in waiting messages, and nobody else', async (t) => {
  const { scope, say, flush, senders } = inbox();
  const other = inbox();
  const [alone, both, flushed, busy] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()];
  for (const session of [alone, flushed]) await say(session, 'ann', 'buffered');
  for (const sender of ['ann', 'ben', 'ann']) await say(both, sender, 'buffered');
  await say(busy, 'ann', 'running');
  await say(busy, 'ben', 'running');
  await flush(flushed, randomUUID());
  await flush(both, randomUUID());
  await say(both, 'ann', 'buffered');
  await other.say(alone, 'ann', 'buffered');
  t.is(await forget(scope, 'ann'), 6);
  t.deepEqual(await senders(), ['ben', 'ben', 'running'], 'the row that runs the rest of the buffer stays');
  t.is(await forget(scope, 'ann'), 0);
  t.deepEqual(await other.senders(), ['ann'], 'of another tenant nothing goes');
});

test('an erasure waits for what a process may have in memory, and for nothing else', async (t) => {
  const { scope, say } = inbox();
  const session = randomUUID();
  const waits: number[] = [];
  const forgetAndWait = erasure(waits);
  await say(session, 'ann', 'buffered');
  await forgetAndWait(scope, 'ann');
  t.deepEqual(waits, [], 'a message in a buffer is in the store alone');
  await say(session, 'ann', 'running');
  await forgetAndWait(scope, 'ann');
  t.deepEqual(waits, [3_000]);
});

test('a message that cannot be opened keeps nobody from being erased', async (t) => {
  const { scope, say, senders } = inbox();
  const session = randomUUID();
  const damaged = await say(session, 'ann', 'running');
  await say(session, 'ben', 'running');
  const owner = await ownerView(database.url);
  await owner.query("update trigger_inbox set sealed = 'damaged' where tenant_id = $1 and key = $2", [
    scope.tenantId,
    damaged.key,
  ]);
  const reported: string[] = [];
  t.is(await erasure([], reported)(scope, 'ben'), 1);
  t.deepEqual(reported, ['opening an accepted message']);
  await owner.query('delete from trigger_inbox where tenant_id = $1', [scope.tenantId]);
  await owner.end();
  t.deepEqual(await senders(), []);
});

test('an erasure finds messages in more sessions than it reads at once', async (t) => {
  const { scope, say, senders } = inbox();
  await Promise.all(
    Array.from({ length: 250 }, (_, index) =>
      say(randomUUID(), index % 2 === 0 ? 'ann' : 'ben', index % 3 === 0 ? 'running' : 'buffered'),
    ),
  );
  const crowded = randomUUID();
  await Promise.all(Array.from({ length: 450 }, () => say(crowded, 'ann', 'buffered')));
  t.is(await forget(scope, 'ann'), 575);
  t.deepEqual([...new Set(await senders())], ['ben']);
});

test('a message that waited is read again before it runs', async (t) => {
  const { scope, say } = inbox();
  const row = await say(randomUUID(), 'ann', 'running');
  const rows = messageRows(store);
  const own = await rows.ownMessage(scope, row, row.execution_id ?? '', false);
  t.deepEqual(own, { is_behind: false, parts: [row.sealed] });
  t.is(
    await rows.ownMessage(scope, row, randomUUID(), false),
    undefined,
    'the key runs in another execution',
  );
  await forget(scope, 'ann');
  t.is(await rows.ownMessage(scope, row, row.execution_id ?? '', false), undefined);
});

test('with a session go its messages that wait, the parts of a flushed buffer too', async (t) => {
  const { scope, say, flush, senders } = inbox();
  const [session, another] = [randomUUID(), randomUUID()];
  const owner = await ownerView(database.url);
  await insertTakenOver(owner, scope.tenantId, session);
  await owner.end();
  await say(session, 'ann', 'buffered');
  await flush(session, randomUUID());
  await say(session, 'ann', 'buffered');
  await say(session, 'ann', 'running');
  await say(another, 'ben', 'buffered');
  await flush(another, randomUUID());
  await store.inTenant(scope, (tx) =>
    tx.query(sql.typeAlias('nothing')`
      delete from sessions where tenant_id = ${scope.tenantId} and id = ${session}`),
  );
  t.deepEqual(await senders(), ['ben', 'running']);
});
