// Answers that are not sent, or not to the end: refused by their receiver, or after a handoff.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import { messageRows } from '../../../src/automation/inbox/message-rows.js';
import { attemptMs } from '../../../src/automation/outbox/attempts.js';
import {
  isUnderWay,
  type NewDelivery,
  reviveDelivery,
} from '../../../src/automation/outbox/deliveries.store.js';
import type { SenderBlock } from '../../../src/automation/messages/sender-blocks.js';
import { EgressError } from '../../../src/infra/egress/index.js';
import { openStore, StoreError } from '../../../src/infra/storage/index.js';
import { tenantScope } from '../../../src/kernel/tenant-scope.js';
import { type EndedMessage, EndedMessages } from '../../support/builders/ended-messages.js';
import { byMail, sending } from '../../support/builders/sending.js';
import { eventually } from '../../support/clocks/eventually.js';

const messages = new EndedMessages(test);
const delivered = { inbox: 'done', deliveries: ['delivered'], shown: 'delivered' };
const failed = { inbox: 'done', deliveries: ['delivery_failed'], shown: 'delivery_failed' };

/** How the message and its delivery have ended. */
async function settled(one: EndedMessage): Promise<object | undefined> {
  const hasEnded = async (): Promise<boolean> => {
    const { rows } = await messages.owner.query(
      `select from deliveries where execution_id = $1 and status <> 'pending'`,
      [one.executionId],
    );
    return rows.length > 0;
  };
  await eventually(hasEnded, { what: 'the delivery has ended' });
  return messages.state(one);
}

/** In place of its answer. */
function unsent({ trigger_id, session_id, executionId, seq }: EndedMessage): NewDelivery {
  return {
    id: randomUUID(),
    sessionId: session_id,
    triggerId: trigger_id,
    executionId,
    key: executionId,
    inboxSeq: seq,
    chunkTotal: 1,
    truncated: false,
    sealed: Buffer.from('why'),
  };
}

test('an answer that its receiver refuses for good has failed, and only such a one is sent again on request', async (t) => {
  const store = await openStore({ databaseUrl: messages.url });
  t.teardown(() => store.close());
  for (const { status, state } of [
    { status: 200, state: delivered },
    { status: 400, state: failed },
  ]) {
    const { end } = sending(t, messages, { answer: async () => status });
    const one = await messages.message(await messages.tenant());
    await end(one, 1);
    t.deepEqual(await settled(one), state);
    const { rows } = await messages.owner.query<{ id: string }>(
      'select id from deliveries where execution_id = $1',
      [one.executionId],
    );
    const scope = tenantScope(one.tenant_id);
    const revived = await store.inTenant(scope, (tx) => reviveDelivery(scope, tx, rows[0]?.id ?? ''));
    t.is(revived !== null, status === 400, `after ${status}`);
  }
});

test('an answer that the outbox refuses for good fails, and the next one of its session is sent', async (t) => {
  const store = await openStore({ databaseUrl: messages.url });
  t.teardown(() => store.close());
  const { sender, end } = sending(t, messages);
  const one = await messages.message(await messages.tenant());
  const next = await messages.message(one.tenant_id, one.session_id);
  const error = await t.throwsAsync(end(one, 0), { instanceOf: StoreError });
  t.is(error.failure, 'check');
  await end(next, 1);
  t.deepEqual(await messages.state(next), { inbox: 'done', deliveries: ['pending'], shown: 'pending' });
  const scope = tenantScope(one.tenant_id);
  await messageRows(store).endUnsent(scope, { row: one, delivery: unsent(one), reason: 'It was refused.' });
  sender.announce(scope, one.session_id);
  t.deepEqual(await settled(next), delivered);
  t.deepEqual(await messages.state(one), failed);
});

test('nothing is recorded of the answer of an erased execution', async (t) => {
  const store = await openStore({ databaseUrl: messages.url });
  t.teardown(() => store.close());
  const one = await messages.message(await messages.tenant());
  // The message goes with its execution.
  await messages.owner.query('delete from executions where id = $1', [one.executionId]);
  await messageRows(store).endUnsent(tenantScope(one.tenant_id), {
    row: one,
    delivery: unsent(one),
    reason: 'It was refused.',
  });
  t.deepEqual(await messages.state(one), { inbox: null, deliveries: null, shown: null });
});

test('a failure does not go through a channel, and its delivery says why there is no answer', async (t) => {
  const { sent, end } = sending(t, messages, { channel: { type: 'slack', auth: { secret_ref: 'slack' } } });
  const one = await messages.message(await messages.tenant());
  await end(one, 1, { error: { code: 'internal_error', message: 'It was refused.' } });
  t.deepEqual(await settled(one), failed);
  const { rows } = await messages.owner.query<{ last_error: string }>(
    'select last_error from deliveries where execution_id = $1',
    [one.executionId],
  );
  t.is(rows[0]?.last_error, 'It was refused.');
  t.deepEqual(sent, []);
});

test('after a handoff no answer of the agent is sent', async (t) => {
  const { sent, end } = sending(t, messages, { closedFor: () => 'session' });
  const one = await messages.message(await messages.tenant());
  await end(one, 1);
  t.deepEqual(await settled(one), failed);
  t.deepEqual(sent, []);
});

test('a handoff breaks a running attempt off, and the session is quiet only then', async (t) => {
  const store = await openStore({ databaseUrl: messages.url });
  t.teardown(() => store.close());
  let closed: SenderBlock | undefined;
  let aborted = false;
  const { sent, end, blocksChanged } = sending(t, messages, {
    closedFor: () => closed,
    answer: (signal) =>
      new Promise((resolve, reject) => {
        // A request that nothing breaks off must not outlast the test.
        t.teardown(() => resolve(200));
        signal?.addEventListener('abort', () => {
          aborted = true;
          reject(new EgressError('withdrawn', 'aborted', { host: 'receiver.test' }));
        });
      }),
  });
  const one = await messages.message(await messages.tenant());
  const scope = tenantScope(one.tenant_id);
  const isQuiet = async (): Promise<boolean> =>
    !(await store.inTenant(scope, (tx) => isUnderWay(scope, tx, one.session_id, attemptMs)));
  t.true(await isQuiet());
  await end(one, 1);
  await eventually(() => sent.length === 1, { what: 'the attempt runs' });
  t.false(await isQuiet());
  blocksChanged();
  t.false(aborted, 'what has changed does not block it');
  closed = 'session';
  blocksChanged();
  t.deepEqual(await settled(one), failed);
  t.true(aborted);
  t.true(await isQuiet());
});

test('a handoff breaks a mail off that the mail server is taking, and it is not sent again', async (t) => {
  let closed: SenderBlock | undefined;
  let begun = 0;
  const { end, blocksChanged } = sending(t, messages, {
    closedFor: () => closed,
    mail: (_mail, _withinMs, signal) =>
      new Promise((resolve, reject) => {
        begun += 1;
        t.teardown(() => resolve());
        signal?.addEventListener('abort', () => reject(signal.reason));
      }),
  });
  const one = await messages.message(await messages.tenant());
  await end(one, 1, byMail);
  await eventually(() => begun === 1, { what: 'the attempt runs' });
  closed = 'session';
  blocksChanged();
  t.deepEqual(await settled(one), failed);
  t.is(begun, 1);
});
