// Gates that close after a message was let in: at the flush of its buffer, and before each attempt to answer it.
import test from 'ava';
import { eventually } from '../support/clocks/eventually.js';
import { startTestNode, type TestNode } from '../support/servers/node.js';
import { ownerView } from '../support/database/owner-view.js';
import { answerJson, startToolServer } from '../support/servers/tool-servers.js';
import { asOwner, createTrigger, executionsOf } from '../support/builders/triggers.js';

/** Looks count in the user's window. */
const seldom = { everyMs: 300 };

const perSender = {
  auth: { type: 'none' },
  session_strategy: { mode: 'derive', fields: ['from'] },
  sender_access: { identity_field: 'from' },
};

/** Each closes one gate for the sender, whose session is known. */
const gates = [
  {
    gate: 'denylist',
    outcome: 'BLOCKED',
    close: (node: TestNode, from: string) => asOwner(node, 'POST', `/api/v1/consumers/${from}/deny`, {}),
  },
  {
    gate: 'session',
    outcome: 'SUSPENDED',
    close: (node: TestNode, _from: string, sessionId: string) =>
      asOwner(node, 'POST', `/api/v1/sessions/${sessionId}/handoff`, {}),
  },
];

for (const { gate, outcome, close } of gates) {
  test.serial(`messages in a buffer run nothing when the ${gate} closes before the flush`, async (t) => {
    const node = await startTestNode(t);
    const receiver = await startToolServer(t, (_request, response) => answerJson(response, {}));
    const trigger = await createTrigger(node, {
      ...perSender,
      execution: {
        mode: 'async',
        callback: { url: receiver.url },
        message_buffer: { enabled: true, window_ms: 60_000, max_messages: 2 },
      },
    });
    const send = (from: string, message: string) =>
      node.client.call('POST', trigger.path, { body: { from, message } });
    for (const message of ['one', 'two']) await send('ada', message);
    await eventually(() => receiver.heard.length === 1);
    const [execution] = await executionsOf(node, trigger);
    await send('ada', 'three');
    t.is((await close(node, 'ada', String(execution?.['session_id']))).status, 200);
    const owner = await ownerView(node.databaseUrl);
    t.teardown(() => owner.end());
    await owner.query("update trigger_windows set due_at = now() - interval '2 seconds', look_at = now()");
    const stopped = await eventually(
      async () =>
        (await executionsOf(node, trigger)).find(
          // The session records the execution as queued before it decides that nothing runs.
          (one) => one.input_preview === 'three' && one.status !== 'queued',
        ),
      { ...seldom, what: 'the end of the message that waited' },
    );
    t.like(stopped, { status: 'blocked', outcome, output_preview: '' });
    t.is(receiver.heard.length, 1);
  });

  test.serial(`an attempt that is due again is not made when the ${gate} has closed meanwhile`, async (t) => {
    const node = await startTestNode(t);
    const receiver = await startToolServer(t, (_request, response) => {
      response.writeHead(429, { 'retry-after': '600' });
      response.end();
    });
    const trigger = await createTrigger(node, {
      ...perSender,
      execution: { mode: 'async', callback: { url: receiver.url } },
    });
    await node.client.call('POST', trigger.path, { body: { from: 'ada', message: 'hi' } });
    await eventually(() => receiver.heard.length === 1);
    const [execution] = await executionsOf(node, trigger);
    t.is((await close(node, 'ada', String(execution?.['session_id']))).status, 200);
    const owner = await ownerView(node.databaseUrl);
    t.teardown(() => owner.end());
    // Only now is it due again, however long the closing took.
    const due = `update deliveries set due_at = now() - interval '10 seconds'
      where status = 'pending' and due_at > now() + interval '5 minutes'`;
    await eventually(async () => (await owner.query(due)).rowCount === 1);
    const failed = await eventually(async () => {
      const listed = await asOwner(node, 'GET', `/api/v1/deliveries?trigger_id=${trigger.id}`);
      return listed.json.data.find((one: { status: string }) => one.status === 'delivery_failed');
    }, seldom);
    t.is(failed.last_error, `Not sent: ${gate}.`);
    t.is(receiver.heard.length, 1);
  });
}

for (const [denied, served] of [
  ['ada', 'bob'],
  ['bob', 'ada'],
] as const) {
  test.serial(
    `of a buffer of several people the words of ${denied}, denied meanwhile, are left out`,
    async (t) => {
      const node = await startTestNode(t);
      const receiver = await startToolServer(t, (_request, response) => answerJson(response, {}));
      const trigger = await createTrigger(node, {
        ...perSender,
        session_strategy: { mode: 'derive', fields: ['room'] },
        execution: {
          mode: 'async',
          callback: { url: receiver.url },
          message_buffer: { enabled: true, window_ms: 60_000 },
        },
      });
      for (const from of ['ada', 'bob'])
        await node.client.call('POST', trigger.path, {
          body: { room: '1', from, message: `words of ${from}` },
        });
      await asOwner(node, 'POST', `/api/v1/consumers/${denied}/deny`, {});
      const owner = await ownerView(node.databaseUrl);
      t.teardown(() => owner.end());
      await owner.query("update trigger_windows set due_at = now() - interval '2 seconds', look_at = now()");
      const [execution] = await eventually(async () => {
        const found = await executionsOf(node, trigger);
        return found.some(({ finished_at }) => finished_at !== null) && found;
      }, seldom);
      t.like(execution, { status: 'completed', input_preview: `words of ${served}` });
    },
  );
}
