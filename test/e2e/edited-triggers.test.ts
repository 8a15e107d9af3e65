// Triggers that are changed while messages or answers of theirs wait.
import test from 'ava';
import { Webhook } from 'standardwebhooks';
import { eventually } from '../support/clocks/eventually.js';
import { type TenantNode } from '../support/servers/node.js';
import { sharedNode } from '../support/servers/shared-node.js';
import { publishAgent } from '../support/builders/published-agents.js';
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

const buffered = (url: string) => ({
  auth: { type: 'none' },
  session_strategy: { mode: 'derive', fields: ['from'] },
  execution: {
    mode: 'async',
    callback: { url },
    message_buffer: { enabled: true, window_ms: 60_000, max_messages: 2 },
  },
});

const ended = (node: TenantNode, trigger: TestTrigger, message: string) =>
  eventually(
    async () =>
      (await executionsOf(node, trigger)).find(
        ({ input_preview, finished_at }) => input_preview === message && finished_at !== null,
      ),
    { ...seldom, what: `the end of ${message}` },
  );

test('a queued message runs with the agent of its session, later ones with the new agent', async (t) => {
  const node = await shared.tenant(t);
  const receiver = await startToolServer(t, (_request, response) => answerJson(response, {}));
  const trigger = await createTrigger(node, buffered(receiver.url));
  const send = (message: string) =>
    node.client.call('POST', trigger.path, { body: { from: 'ada', message } });
  await send('one');
  await send('two');
  const first = await ended(node, trigger, 'one\ntwo');
  await send('three');
  const other = await publishAgent(node.client, node.bootstrap, { model: 'sim.echo' });
  t.is((await asOwner(node, 'PATCH', `/api/triggers/${trigger.id}`, { agent_id: other })).status, 200);
  await endBuffers(node);
  const waited = await ended(node, trigger, 'three');
  t.like(waited, { status: 'completed', session_id: first.session_id });
  await send('four');
  await send('five');
  const later = await ended(node, trigger, 'four\nfive');
  t.like(later, { status: 'completed', agent_id: other });
  t.not(later.session_id, first.session_id);
});

test('a queued message runs after its trigger is disabled, and no later one does', async (t) => {
  const node = await shared.tenant(t);
  const receiver = await startToolServer(t, (_request, response) => answerJson(response, {}));
  const trigger = await createTrigger(node, buffered(receiver.url));
  const send = (message: string) =>
    node.client.call('POST', trigger.path, { body: { from: 'ada', message } });
  t.is((await send('one')).status, 202);
  await asOwner(node, 'POST', `/api/triggers/${trigger.id}/disable`);
  t.is((await send('two')).status, 409);
  await endBuffers(node);
  t.is((await ended(node, trigger, 'one')).status, 'completed');
  await eventually(() => receiver.heard.length === 1);
});

test('queued messages run before the first that arrives after buffering is switched off', async (t) => {
  const node = await shared.tenant(t);
  const receiver = await startToolServer(t, (_request, response) => answerJson(response, {}));
  const trigger = await createTrigger(node, buffered(receiver.url));
  const send = (message: string) =>
    node.client.call('POST', trigger.path, { body: { from: 'ada', message } });
  t.is((await send('one')).json.status, 'buffered');
  const trigger_config = { execution: { message_buffer: { enabled: false } } };
  await asOwner(node, 'PATCH', `/api/triggers/${trigger.id}`, { trigger_config });
  t.is((await send('two')).json.status, 'accepted');
  const two = await ended(node, trigger, 'two');
  const one = await ended(node, trigger, 'one');
  t.is(one.session_id, two.session_id);
  await eventually(() => receiver.heard.length === 2);
  t.deepEqual(
    receiver.heard.map(({ headers }) => headers['idempotency-key']),
    [one, two].map(({ id }) => `${String(id)}:1`),
  );
});

test('the answer of an acknowledged message goes to the callback after its trigger becomes synchronous', async (t) => {
  const node = await shared.tenant(t);
  const receiver = await startToolServer(t, (_request, response) => answerJson(response, {}));
  const trigger = await createTrigger(node, buffered(receiver.url));
  const send = (message: string) =>
    node.client.call('POST', trigger.path, {
      body: { from: 'ada', message },
      headers: { 'idempotency-key': message },
    });
  const first = await send('one');
  t.like(first, { status: 202, json: { status: 'buffered' } });
  const trigger_config = { execution: { mode: 'sync', message_buffer: { enabled: false } } };
  await asOwner(node, 'PATCH', `/api/triggers/${trigger.id}`, { trigger_config });
  await endBuffers(node);
  const { id } = await ended(node, trigger, 'one');
  await eventually(async () => {
    const [one] = await executionsOf(node, trigger);
    return one.delivery_status !== 'none' && receiver.heard.length === 1;
  }, seldom);
  t.is(receiver.heard[0]?.headers['idempotency-key'], `${String(id)}:1`);
  t.like(await send('one'), { status: 202, json: { status: 'buffered' } });
  t.like(await send('two'), { status: 200, json: { agent_response: 'echo: two' } });
  t.is(receiver.heard.length, 1);
});

test('a queued answer goes to the current callback, signed with both secrets', async (t) => {
  const node = await shared.tenant(t);
  const away = await startToolServer(t, (_request, response) => answerJson(response, {}, 503));
  const receiver = await startToolServer(t, (_request, response) => answerJson(response, {}));
  const trigger = await createTrigger(node, {
    auth: { type: 'none' },
    execution: { mode: 'async', callback: { url: away.url } },
  });
  await node.client.call('POST', trigger.path, { body: { message: 'hi' } });
  await eventually(() => away.heard.length === 1);
  const rotated = await asOwner(node, 'POST', `/api/triggers/${trigger.id}/rotate-secret`, {
    grace_seconds: 600,
  });
  await asOwner(node, 'PATCH', `/api/triggers/${trigger.id}`, {
    trigger_config: { execution: { callback: { url: receiver.url } } },
  });
  const [arrived] = await eventually(() => (receiver.heard.length > 0 ? receiver.heard : undefined), seldom);
  t.is(arrived?.headers['idempotency-key'], away.heard[0]?.headers['idempotency-key']);
  for (const secret of [trigger.secret, String(rotated.json.data.webhook_secret)])
    t.notThrows(() =>
      new Webhook(secret).verify(arrived?.body ?? '', arrived?.headers as Record<string, string>),
    );
});
