// The store's cost of sending an answer, and the order when places are few. The store is real, the receiver is not.
import { randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { systemTime, type Time } from '../../../cluster/index.js';
import { tenantScope } from '../../../src/kernel/tenant-scope.js';
import { openStore } from '../../../src/infra/storage/index.js';
import { insertDelivery, type NewDelivery } from '../../../src/automation/outbox/deliveries.store.js';
import { type QueueState, queueTarget } from '../../../src/automation/outbox/delivery-queue-target.js';
import { attemptMs } from '../../../src/automation/outbox/attempts.js';
import { holdMs } from '../../../src/automation/outbox/sender.js';
import { type EndedMessage, EndedMessages } from '../../support/builders/ended-messages.js';
import { byMail, seal, sending, sendingOn } from '../../support/builders/sending.js';
import { eventually } from '../../support/clocks/eventually.js';

const messages = new EndedMessages(test);

const finishing = 'batch_finish_trigger_messages';
const delivered = { inbox: 'done', deliveries: ['delivered'], shown: 'delivered' };

test('a plain answer costs two rows of batches and no transaction', async (t) => {
  const { rows, sent, end } = sending(t, messages);
  const one = await messages.message(await messages.tenant());
  await end(one, 1);
  await eventually(async () => (await messages.attempts(one)).join() === '1.1 200');
  t.deepEqual(await messages.state(one), delivered);
  t.deepEqual(sent, [`${one.executionId}:1`]);
  t.deepEqual(rows, [finishing, sendingOn]);
});

/** The first delivery of the session that is not sent: whether it is held, and the attempts at it. */
async function heldOf({ session_id }: EndedMessage): Promise<unknown> {
  const { rows } = await messages.owner.query(
    `select status, attempts, due_at > clock_timestamp() as held from deliveries where session_id = $1`,
    [session_id],
  );
  return rows[0];
}

test('an attempt whose end could not be recorded is not made again by itself', async (t) => {
  const { rows, sent, end } = sending(t, messages, { failsToRecord: 1 });
  const one = await messages.message(await messages.tenant());
  await end(one, 1);
  await eventually(() => rows.filter((name) => name === sendingOn).length >= 2, { what: 'another look' });
  t.is(sent.length, 1, 'its hold keeps everybody from it');
  t.deepEqual(await messages.attempts(one), ['1.1 open']);
});

test('a process that has lost its lease since the claim sends nothing and leaves the answer to others', async (t) => {
  const { rows, sent, end } = sending(t, messages, { mayAct: () => false });
  const one = await messages.message(await messages.tenant());
  await end(one, 1);
  await eventually(() => rows.includes(sendingOn), { what: 'the queue is looked at again' });
  t.deepEqual(sent, []);
  t.deepEqual(await heldOf(one), { status: 'pending', attempts: 1, held: true });
  t.deepEqual(await messages.attempts(one), ['1.1 open']);
});

test('a sender that was frozen between claim and request sends nothing, whichever clock says so', async (t) => {
  for (const clock of ['wallMs', 'monotonicMs'] as const) {
    let aheadMs = 0;
    const time: Time = { ...systemTime, [clock]: () => systemTime[clock]() + aheadMs };
    const { rows, sent, end } = sending(t, messages, {
      time,
      // The last look: the claim was made, and the process is frozen.
      mayAct: () => {
        aheadMs = attemptMs + 1;
        return true;
      },
    });
    const one = await messages.message(await messages.tenant());
    await end(one, 1);
    await eventually(() => rows.includes(sendingOn), { what: 'the queue is looked at again' });
    t.deepEqual(sent, [], clock);
    t.like(await heldOf(one), { status: 'pending', attempts: 1 });
  }
});

test('a mail has what the claim has left of the time of an attempt, since a handoff is answered then', async (t) => {
  let aheadMs = 0;
  const given: number[] = [];
  const { end } = sending(t, messages, {
    time: { ...systemTime, monotonicMs: () => systemTime.monotonicMs() + aheadMs },
    // The last look: the store was slow since the claim.
    mayAct: () => {
      aheadMs = 12_000;
      return true;
    },
    mail: async (_mail, withinMs) => void given.push(withinMs),
  });
  const one = await messages.message(await messages.tenant());
  await end(one, 1, byMail);
  await eventually(async () => (await messages.attempts(one)).join() === '1.1 250');
  t.is(given.length, 1);
  t.true((given[0] ?? attemptMs) <= attemptMs - 12_000, String(given));
});

test('each further chunk costs one more row if chunks follow at once', async (t) => {
  const { rows, sent, end } = sending(t, messages);
  const one = await messages.message(await messages.tenant());
  await end(one, 3);
  await eventually(async () => (await messages.attempts(one)).join() === '1.1 200,2.1 200,3.1 200');
  t.deepEqual(await messages.state(one), delivered);
  t.deepEqual(
    sent,
    [1, 2, 3].map((chunk) => `${one.executionId}:${chunk}`),
  );
  t.deepEqual(rows, [finishing, sendingOn, sendingOn, sendingOn]);
});

test('chunks with a pause between them wait for it on this process', async (t) => {
  const { sent, end } = sending(t, messages, { delayMs: 500 });
  const one = await messages.message(await messages.tenant());
  await end(one, 2);
  await eventually(async () => (await messages.attempts(one)).join() === '1.1 200,2.1 200');
  t.is(sent.length, 2);
  const { rows } = await messages.owner.query<{ paused: boolean }>(
    `select max(a.started_at) - min(a.finished_at) >= interval '400 milliseconds' as paused
      from delivery_attempts a join deliveries d on d.id = a.delivery_id where d.execution_id = $1`,
    [one.executionId],
  );
  t.true(rows[0]?.paused);
});

test('answers of one session follow one another, whichever turn ends first', async (t) => {
  const { sent, end } = sending(t, messages);
  const tenantId = await messages.tenant();
  const older = await messages.message(tenantId);
  const younger = await messages.message(tenantId, older.session_id);
  await end(younger, 1);
  t.deepEqual(await messages.attempts(younger), []);
  await end(older, 1);
  await eventually(async () => (await messages.attempts(younger)).join() === '1.1 200');
  t.deepEqual(
    sent,
    [older, younger].map(({ executionId }) => `${executionId}:1`),
  );
});

test('an answer waits for the one that its session is sending', async (t) => {
  let release: () => void = () => undefined;
  const released = new Promise<void>((resolve) => void (release = resolve));
  const { sent, end } = sending(t, messages, { answer: () => released.then(() => 200) });
  const tenantId = await messages.tenant();
  const one = await messages.message(tenantId);
  const other = await messages.message(tenantId, one.session_id);
  await end(one, 1);
  await eventually(() => sent.length === 1);
  await end(other, 1);
  t.deepEqual(await messages.attempts(other), [], 'its attempt is not begun before its time');
  release();
  await eventually(async () => (await messages.attempts(other)).join() === '1.1 200');
  t.deepEqual(await messages.attempts(one), ['1.1 200']);
});

test('an answer without a free place waits without an attempt that would expire', async (t) => {
  const releases: (() => void)[] = [];
  const { sent, end } = sending(t, messages, {
    answer: () => new Promise((resolve) => void releases.push(() => resolve(200))),
  });
  const tenantId = await messages.tenant();
  const all = await Promise.all(Array.from({ length: 40 }, () => messages.message(tenantId)));
  await Promise.all(all.map((one) => end(one, 1)));
  const begun = async (): Promise<number> =>
    (await Promise.all(all.map((one) => messages.attempts(one)))).flat().length;
  await eventually(() => sent.length === 32);
  t.is(await begun(), 32);
  releases.splice(0).forEach((release) => release());
  await eventually(() => sent.length === 40);
  releases.splice(0).forEach((release) => release());
  await eventually(async () => {
    const states = await Promise.all(all.map((one) => messages.attempts(one)));
    return states.every((attempts) => attempts.join() === '1.1 200');
  });
});

test('a tenant with many answers by mail delays only its own, and those that wait make no attempt', async (t) => {
  const store = await openStore({ databaseUrl: messages.url });
  t.teardown(() => store.close());
  const releases: (() => void)[] = [];
  const begun: string[] = [];
  const { end } = sending(t, messages, {
    store,
    mail: ({ id }) => {
      begun.push(id);
      return new Promise((resolve) => void releases.push(resolve));
    },
  });
  const [busy, other] = [await messages.tenant(), await messages.tenant()];
  const all = await Promise.all(Array.from({ length: 6 }, () => messages.message(busy)));
  await Promise.all(all.map((one) => end(one, 1, byMail)));
  const attempts = async (): Promise<readonly string[]> =>
    (await Promise.all(all.map((one) => messages.attempts(one)))).flat();
  await eventually(async () => begun.length === 2 && (await attempts()).length === 2, {
    what: 'the mails without a place are given back',
  });
  const single = await messages.message(other);
  await end(single, 1, byMail);
  await eventually(() => begun.includes(single.executionId), { what: 'the other tenant sends' });
  for (let sent = 0; sent < 7; sent += 1) {
    await eventually(() => releases.length > 0, { what: `${sent} are sent` });
    releases.shift()?.();
  }
  await eventually(async () => (await attempts()).join() === all.map(() => '1.1 250').join());
  t.deepEqual(begun.toSorted(), [...all, single].map(({ executionId }) => executionId).toSorted());
});

test('a mail that a person writes waits for a place, held for the one who sends it', async (t) => {
  const store = await openStore({ databaseUrl: messages.url });
  t.teardown(() => store.close());
  const releases: (() => void)[] = [];
  const { sender, end } = sending(t, messages, {
    store,
    mail: () => new Promise((resolve) => void releases.push(resolve)),
  });
  const tenantId = await messages.tenant();
  const busy = await Promise.all([1, 2].map(() => messages.message(tenantId)));
  await Promise.all(busy.map((one) => end(one, 1, byMail)));
  await eventually(() => releases.length === 2);
  const scope = tenantScope(tenantId);
  const [id, session_id] = [randomUUID(), randomUUID()];
  const delivery: NewDelivery = {
    id,
    sessionId: session_id,
    triggerId: randomUUID(),
    executionId: null,
    key: id,
    inboxSeq: 0,
    chunkTotal: 1,
    truncated: false,
    sealed: seal.seal(scope, { chunks: ['one'], context: {}, manual: true, ...byMail }),
  };
  await store.inTenant(scope, (tx) => insertDelivery(scope, tx, delivery));
  const fate = sender.sendNow(scope, id, 1);
  const row = { executionId: id, session_id, tenant_id: tenantId, trigger_id: id, key: id, seq: 0 };
  await eventually(
    async () => {
      const { rows } = await messages.owner.query(`select from delivery_attempts where delivery_id = $1`, [
        id,
      ]);
      const held = await heldOf(row);
      return rows.length === 0 && JSON.stringify(held) === '{"status":"pending","attempts":0,"held":true}';
    },
    { what: 'its attempt is taken back' },
  );
  for (let sent = 0; sent < 3; sent += 1) {
    await eventually(() => releases.length > 0);
    releases.shift()?.();
  }
  t.is(await fate, 'sent');
});

/** A manual message in two chunks: the first was sent, the second waits for the test. */
async function halfSent(t: ExecutionContext) {
  const delayMs = 20;
  const pauses: (() => void)[] = [];
  const time: Time = {
    ...systemTime,
    after: (ms, work) => {
      if (ms !== delayMs) return systemTime.after(ms, work);
      pauses.push(work);
      return { cancel: () => undefined };
    },
  };
  const store = await openStore({ databaseUrl: messages.url });
  t.teardown(() => store.close());
  const { sender, sent } = sending(t, messages, { delayMs, store, time });
  const scope = tenantScope(await messages.tenant());
  const [id, sessionId] = [randomUUID(), randomUUID()];
  const put = (deliveryId: string, chunks: readonly string[], heldMs: number): Promise<boolean> => {
    const delivery: NewDelivery = {
      id: deliveryId,
      sessionId,
      triggerId: randomUUID(),
      executionId: null,
      key: deliveryId,
      inboxSeq: 0,
      chunkTotal: chunks.length,
      truncated: false,
      sealed: seal.seal(scope, { chunks, context: {}, manual: true }),
    };
    return store.inTenant(scope, (tx) => insertDelivery(scope, tx, delivery, heldMs));
  };
  await put(id, ['one', 'two'], holdMs);
  const fate = sender.sendNow(scope, id, 1);
  await eventually(() => pauses.length === 1);
  const lines = messages.writers.writer(queueTarget({ holdMs }));
  const look = (): Promise<QueueState> =>
    lines.write({
      tenant_id: scope.tenantId,
      session_id: sessionId,
      claim: randomUUID(),
      ended: undefined,
      continues: true,
    });
  const goOn = () => {
    pauses.splice(0).forEach((work) => work());
    return fate;
  };
  return { id, sent, put, look, goOn, delayMs };
}

test("a manual message stays claimed between two chunks, and the session's queue continues after it", async (t) => {
  const { id, sent, put, look, goOn, delayMs } = await halfSent(t);
  await eventually(async () => {
    const { rows } = await messages.owner.query(
      `select from delivery_attempts
        where delivery_id = $1 and finished_at < clock_timestamp() - $2 * interval '1 millisecond'`,
      [id, delayMs],
    );
    return rows.length === 1;
  });
  const held = await look();
  t.is(held.first, undefined);
  t.true((held.dueInMs ?? 0) > holdMs / 2);
  const behind = randomUUID();
  await put(behind, ['three'], 0);
  t.is(await goOn(), 'sent');
  await eventually(() => sent.length === 3);
  t.deepEqual(sent, [`${id}:1`, `${id}:2`, `${behind}:1`]);
});

test('a manual message that the queue claimed meanwhile is left to it', async (t) => {
  const { id, sent, look, goOn } = await halfSent(t);
  await messages.owner.query('update deliveries set due_at = now() where id = $1', [id]);
  t.like((await look()).first, { id, chunk: 2, attempts: 1 });
  t.is(await goOn(), 'taken');
  t.deepEqual(sent, [`${id}:1`]);
});
