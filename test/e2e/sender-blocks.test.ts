// Sender blocks that take effect after acceptance: at the flush of the buffer, and before each delivery attempt.
import test from 'ava';
import { eventually } from '../support/clocks/eventually.js';
import { operatorToken, type TenantNode } from '../support/servers/node.js';
import { sharedNode } from '../support/servers/shared-node.js';
import { ownerView } from '../support/database/owner-view.js';
import { answerJson, startToolServer } from '../support/servers/tool-servers.js';
import {
  asOwner,
  createTrigger,
  endBuffers,
  executionsOf,
  type TestTrigger,
} from '../support/builders/triggers.js';

const shared = sharedNode(test);

/** Looks count in the user's window. */
const seldom = { everyMs: 300 };

const perSender = {
  auth: { type: 'none' },
  session_strategy: { mode: 'derive', fields: ['from'] },
  sender_access: { identity_field: 'from' },
};

interface Known {
  readonly from: string;
  readonly sessionId: string;
  readonly trigger: TestTrigger;
}

/** Each creates one sender block for the sender of a known session. */
const gates = [
  {
    gate: 'denylist',
    outcome: 'BLOCKED',
    close: (node: TenantNode, { from }: Known) => asOwner(node, 'POST', `/api/v1/consumers/${from}/deny`, {}),
  },
  {
    gate: 'session',
    outcome: 'SUSPENDED',
    close: (node: TenantNode, { sessionId }: Known) =>
      asOwner(node, 'POST', `/api/v1/sessions/${sessionId}/handoff`, {}),
  },
  {
    gate: 'sender_access',
    outcome: 'BLOCKED',
    close: (node: TenantNode, { trigger }: Known) => allowOnly(node, trigger, 'grace'),
  },
];

function allowOnly(node: TenantNode, trigger: TestTrigger, from: string) {
  const sender_access = { mode: 'whitelist', identifiers: [from] };
  return asOwner(node, 'PATCH', `/api/triggers/${trigger.id}`, { trigger_config: { sender_access } });
}

for (const { gate, outcome, close } of gates) {
  test(`buffered messages run nothing if the ${gate} takes effect before the flush`, async (t) => {
    const node = await shared.tenant(t);
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
    const sessionId = String(execution?.['session_id']);
    t.is((await close(node, { from: 'ada', sessionId, trigger })).status, 200);
    await endBuffers(node);
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

  test(`a due retry is not sent if the ${gate} took effect meanwhile`, async (t) => {
    const node = await shared.tenant(t);
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
    const sessionId = String(execution?.['session_id']);
    t.is((await close(node, { from: 'ada', sessionId, trigger })).status, 200);
    const owner = await ownerView(node.databaseUrl);
    t.teardown(() => owner.end());
    // Only now is it due again, however long the closing took.
    const due = `update deliveries set due_at = now() - interval '10 seconds'
      where tenant_id = $1 and status = 'pending' and due_at > now() + interval '5 minutes'`;
    const { tenant_id: tenant } = node.bootstrap;
    await eventually(async () => (await owner.query(due, [tenant])).rowCount === 1);
    const failed = await eventually(async () => {
      const listed = await asOwner(node, 'GET', `/api/v1/deliveries?trigger_id=${trigger.id}`);
      return listed.json.data.find((one: { status: string }) => one.status === 'delivery_failed');
    }, seldom);
    t.is(failed.last_error, `Not sent: ${gate}.`);
    t.is(receiver.heard.length, 1);
  });
}

for (const mode of ['sync', 'async']) {
  test(`the ${mode} answer to a message for people comes when its execution is blocked`, async (t) => {
    const node = await shared.tenant(t);
    const trigger = await createTrigger(node, { ...perSender, execution: { mode } });
    const send = (message: string) =>
      node.client.call('POST', trigger.path, { body: { from: 'ada', message } });
    await send('hi');
    const begun = await eventually(async () => {
      const [execution] = await executionsOf(node, trigger);
      return execution?.['status'] === 'completed' && execution;
    }, seldom);
    const handoff = `/api/v1/sessions/${begun['session_id']}/handoff`;
    t.is((await asOwner(node, 'POST', handoff, {})).status, 200);
    // Not each of them is seen too early without the wait.
    for (let sent = 0; sent < 10; sent += 1) {
      t.is((await send(`message ${sent}`)).text, '<Response></Response>');
      const [execution] = await executionsOf(node, trigger);
      t.like(execution, { input_preview: `message ${sent}`, status: 'blocked', outcome: 'SUSPENDED' });
    }
  });
}

test('a message for people needs neither a turn of its agent nor tokens', async (t) => {
  const node = await shared.tenant(t);
  const { agent_id: agent, tenant_id: tenant } = node.bootstrap;
  const trigger = await createTrigger(node, perSender);
  const send = (message: string) =>
    node.client.call('POST', trigger.path, { body: { from: 'ada', message } });
  t.is((await send('hi')).status, 200);
  const [begun] = await executionsOf(node, trigger);
  t.is((await asOwner(node, 'POST', `/api/v1/sessions/${begun?.['session_id']}/handoff`, {})).status, 200);
  const publish = (config: object) => asOwner(node, 'POST', `/api/agents/${agent}/publish`, { config });
  t.is((await publish({ rate_limit: 1 })).status, 200);
  const kept = async (message: string) => {
    t.is((await send(message)).text, '<Response></Response>');
    const [execution] = await executionsOf(node, trigger);
    t.like(execution, { input_preview: message, status: 'blocked', outcome: 'SUSPENDED' });
  };
  await kept('one');
  await kept('two');
  t.is((await publish({ rate_limit: 1_000 })).status, 200);
  const plan = { plan: 'enterprise', settings: { monthly_tokens: 1 } };
  await node.client.call('PATCH', `/api/tenants/${tenant}/plan`, { token: operatorToken, body: plan });
  await kept('three');
  const messages = await asOwner(node, 'GET', `/api/v1/sessions/${begun?.['session_id']}/messages`);
  const texts = messages.json.data.map((one: { content: string }) => one.content);
  for (const message of ['one', 'two', 'three']) t.true(texts.includes(message), message);
});

for (const [how, refuse] of [
  [
    'is denied',
    (node: TenantNode, from: string) => asOwner(node, 'POST', `/api/v1/consumers/${from}/deny`, {}),
  ],
  [
    'is not allowed',
    (node: TenantNode, from: string, trigger: TestTrigger) =>
      allowOnly(node, trigger, from === 'ada' ? 'bob' : 'ada'),
  ],
] as const)
  for (const [refused, served] of [
    ['ada', 'bob'],
    ['bob', 'ada'],
  ] as const) {
    test(`a buffer of several people runs without ${refused} who ${how} meanwhile`, async (t) => {
      const node = await shared.tenant(t);
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
      t.is((await refuse(node, refused, trigger)).status, 200);
      await endBuffers(node);
      const executions = await eventually(async () => {
        const found = await executionsOf(node, trigger);
        const isOver = found.length === 2 && found.every(({ finished_at }) => finished_at !== null);
        return isOver && found;
      }, seldom);
      const shown = executions.map(({ status, input_preview: text }) => `${status}: ${text}`);
      t.deepEqual(shown.toSorted(), [`blocked: words of ${refused}`, `completed: words of ${served}`]);
    });
  }
