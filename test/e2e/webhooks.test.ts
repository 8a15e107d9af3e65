import { createHmac, randomUUID } from 'node:crypto';
import test from 'ava';
import { eventually } from '../support/clocks/eventually.js';
import { openAiAt, startVendor } from '../support/clients/direct-calls.js';
import { operatorToken, startTestNode } from '../support/servers/node.js';
import { sharedNode } from '../support/servers/shared-node.js';
import {
  asOwner,
  createTrigger,
  executionOf,
  executionsOf,
  sendSigned,
  type TestTrigger,
} from '../support/builders/triggers.js';
import { OpenAiServer } from '../support/servers/vendors/openai-server.js';

const shared = sharedNode(test);

test('a signed webhook is answered by its agent, and a repeat gets the same answer without running', async (t) => {
  const node = await shared.tenant(t);
  const trigger = await createTrigger(node, {
    context_mapping: { customer: '$.user.name', _id: '$.user.id' },
  });
  const payload = { message: 'hello there', user: { name: 'Ada', id: 7 } };
  const key = { 'idempotency-key': 'k-1' };
  const first = await sendSigned(node, trigger, payload, key);
  t.is(first.status, 200, first.text);
  t.like(first.json, {
    success: true,
    trigger_id: trigger.id,
    agent_id: node.bootstrap.agent_id,
    agent_response: 'echo: hello there',
  });
  t.true(first.json.usage.total_tokens > 0);
  const second = await sendSigned(node, trigger, payload, key);
  t.is(second.text, first.text);
  const other = await sendSigned(node, trigger, { message: 'something else' }, key);
  t.is(other.status, 409);
  t.is(other.json.error, 'conflict');
  const plain = await sendSigned(node, trigger, payload);
  t.not(plain.json.execution_id, first.json.execution_id);
  const executions = await executionsOf(node, trigger);
  t.is(executions.length, 2);
  t.like(executions[0], {
    status: 'completed',
    outcome: 'COMPLETED',
    input_preview: 'hello there',
    delivery_status: 'none',
  });
  const whole = await executionOf(node, trigger, first.json.execution_id);
  t.deepEqual(whole.context, { customer: 'Ada', _id: 7 });
  t.true(whole.steps.length > 0);
  const stats = await asOwner(node, 'GET', '/api/triggers/stats');
  t.like(stats.json.data, {
    total: 1,
    enabled: 1,
    executions: { total: 2, completed: 2, failed: 0, timeout: 0 },
    last_24h: 2,
  });
});

test('webhooks are refused in the documented order', async (t) => {
  const node = await shared.tenant(t);
  const trigger = await createTrigger(node, {});
  const refused = async (
    status: number,
    error: string,
    sent: Promise<{ status: number; json: { error: string } }>,
  ) => {
    const answer = await sent;
    t.is(`${answer.status} ${answer.json.error}`, `${status} ${error}`);
  };
  const unsigned = { body: { message: 'x' } };
  await refused(
    404,
    'not_found',
    node.client.call('POST', `/api/triggers/webhook/${randomUUID()}`, unsigned),
  );
  await refused(404, 'not_found', node.client.call('POST', '/api/triggers/webhook/nothing', unsigned));
  await asOwner(node, 'POST', `/api/triggers/${trigger.id}/disable`);
  await refused(401, 'invalid_signature', node.client.call('POST', trigger.path, unsigned));
  await refused(409, 'trigger_disabled', sendSigned(node, trigger, { message: 'x' }));
  await asOwner(node, 'POST', `/api/triggers/${trigger.id}/enable`);
  await refused(400, 'VALIDATION_ERROR', sendSigned(node, trigger, { text: 'x' }));
  const body = 'not json';
  const signature = `sha256=${createHmac('sha256', trigger.secret).update(body).digest('hex')}`;
  await refused(
    400,
    'validation_error',
    node.client.call('POST', trigger.path, { body, headers: { 'x-webhook-signature': signature } }),
  );
  await asOwner(node, 'POST', `/api/agents/${node.bootstrap.agent_id}/unpublish`);
  await refused(404, 'agent_not_found', sendSigned(node, trigger, { message: 'x' }));
});

test('a webhook with key authentication accepts a key of its tenant and no other', async (t) => {
  const node = await shared.tenant(t);
  const trigger = await createTrigger(node, {
    auth: { type: 'api_key' },
    query_extraction: { mode: 'full_body' },
  });
  const send = (headers: Record<string, string>) =>
    node.client.call('POST', trigger.path, {
      body: 'plain words',
      headers: { 'content-type': 'text/plain', ...headers },
    });
  t.like(await send({}), { status: 401 });
  t.like(await send({ 'x-api-key': 'svc_live_invented0invented0invented0' }), { status: 401 });
  const answer = await send({ 'x-api-key': node.bootstrap.api_key });
  t.is(answer.json.agent_response, 'echo: plain words');
  const bearer = await send({ authorization: `Bearer ${node.bootstrap.api_key}` });
  t.is(bearer.status, 200, bearer.text);
  t.is((await send({ authorization: 'Bearer svc_live_invented0invented0invented0' })).status, 401);
  const nothing = await node.client.call('POST', trigger.path, {
    body: '',
    headers: { 'content-type': 'application/json', 'x-api-key': node.bootstrap.api_key },
  });
  t.like(nothing, { status: 400, json: { error: 'VALIDATION_ERROR' } }, 'no body is no question');
});

test("a key's lifetime quota counts its webhooks, but not those stopped by a check", async (t) => {
  const node = await shared.tenant(t);
  const trigger = await createTrigger(node, {
    auth: { type: 'api_key' },
    sender_access: { mode: 'whitelist', identity_field: 'user', identifiers: ['ada'] },
  });
  const made = await asOwner(node, 'POST', '/api/keys', { name: 'two', quotaLimit: 2 });
  const send = (user: string) =>
    node.client.call('POST', trigger.path, {
      body: { message: 'hi', user },
      headers: { 'x-api-key': made.json.data.api_key },
    });
  t.is((await send('bob')).text, '<Response></Response>');
  t.is((await send('ada')).status, 200);
  t.is((await send('ada')).status, 200);
  const refused = await send('ada');
  t.is(refused.status, 429, refused.text);
  t.like(refused.json, { error: 'quota_exceeded', details: { limit: 2, used: 2, reset_date: null } });
  t.is((await send('bob')).text, '<Response></Response>', 'a gate answers first');
});

test("without tokens a webhook is refused on entry in every mode, unless the tenant's own key pays", async (t) => {
  const server = await startVendor(t, new OpenAiServer());
  // Of its own: on the other one no vendor has a key.
  const node = await startTestNode(t, { environment: openAiAt(server, 'sk-platform-0123456789') });
  const buffered = {
    session_strategy: { mode: 'derive', fields: ['user'] },
    execution: {
      mode: 'async',
      callback: { url: `${node.client.baseUrl}/health/live` },
      message_buffer: { enabled: true },
    },
  };
  const listed = { sender_access: { mode: 'whitelist', identity_field: 'user' } };
  const [now, later, gathered, stopped] = await Promise.all(
    [{}, { execution: { mode: 'async' } }, buffered, { ...buffered, ...listed }].map((config) =>
      createTrigger(node, config),
    ),
  );
  if (now === undefined || later === undefined || gathered === undefined || stopped === undefined) return;
  const { tenant_id: tenant, agent_id: agent } = node.bootstrap;
  const plan = { plan: 'enterprise', settings: { monthly_tokens: 1 } };
  await node.client.call('PATCH', `/api/tenants/${tenant}/plan`, { token: operatorToken, body: plan });
  const send = (trigger: TestTrigger) => sendSigned(node, trigger, { message: 'hi', user: 'ada' });
  await eventually(async () => (await send(now)).status === 429);
  for (const trigger of [later, gathered]) {
    const { status, json } = await send(trigger);
    t.is(status, 429);
    t.is(json.error, 'quota_exceeded');
    t.deepEqual(await executionsOf(node, trigger), []);
  }
  t.is((await send(stopped)).text, '<Response></Response>', 'a gate answers first');
  const secret = { name: 'own', kind: 'llm_key', provider: 'openai', value: 'sk-own-first-0001' };
  await asOwner(node, 'POST', '/api/secrets', secret);
  await asOwner(node, 'PATCH', `/api/agents/${agent}`, { llm_config: { model: 'openai.gpt-4.1-mini' } });
  await asOwner(node, 'POST', `/api/agents/${agent}/publish`, {});
  await eventually(async () => (await send(later)).status === 202);
});

test('an agent without a callable model fails the execution, and the webhook reports it in its own form', async (t) => {
  const node = await shared.tenant(t);
  const { agent_id: agent } = node.bootstrap;
  await asOwner(node, 'PATCH', `/api/agents/${agent}`, { llm_config: { model: 'openai.gpt-4.1-mini' } });
  await asOwner(node, 'POST', `/api/agents/${agent}/publish`, {});
  const trigger = await createTrigger(node, {});
  const key = { 'idempotency-key': 'k-1' };
  const answer = await sendSigned(node, trigger, { message: 'hi' }, key);
  t.is(answer.status, 200, answer.text);
  t.like(answer.json, { success: false, error: 'invalid_model', trigger_id: trigger.id });
  t.is((await sendSigned(node, trigger, { message: 'hi' }, key)).text, answer.text);
  const [execution, ...others] = await executionsOf(node, trigger);
  t.like(execution, {
    id: answer.json.execution_id,
    status: 'failed',
    outcome: 'FAILED',
    input_preview: 'hi',
  });
  t.is(others.length, 0);
  const invoked = await asOwner(node, 'POST', `/api/triggers/${trigger.id}/invoke`, { message: 'now' });
  t.like(invoked, { status: 200, json: { success: false, error: 'invalid_model' } });
});

test('each format has its answer, and only lists are split', async (t) => {
  const node = await shared.tenant(t);
  const answerIn = async (response_adapter: Record<string, unknown>, message: string) => {
    const trigger = await createTrigger(node, {
      auth: { type: 'none' },
      response_adapter,
      execution: { split_config: { max_chunk_size: 100, numbering: false } },
    });
    return node.client.call('POST', trigger.path, { body: { message } });
  };
  t.deepEqual((await answerIn({ format: 'slack' }, 'hi')).json, {
    response_type: 'in_channel',
    text: 'echo: hi',
  });
  t.deepEqual((await answerIn({ format: 'teams' }, 'hi')).json, { type: 'message', text: 'echo: hi' });
  const xml = await answerIn({ format: 'twiml' }, 'hi & **bold**');
  t.is(xml.text, '<Response><Message>echo: hi &amp; bold</Message></Response>');
  t.regex(xml.headers.get('content-type') ?? '', /^text\/xml/);
  t.deepEqual((await answerIn({ format: 'erp' }, 'hi')).json, [{ message: 'echo: hi', type: 'text' }]);
  const long = 'word '.repeat(60).trim();
  const parts = (await answerIn({ format: 'erp', split_messages: true }, long)).json;
  t.true(parts.length >= 3);
  t.is(parts.map(({ message }: { message: string }) => message).join(' '), `echo: ${long}`);
  t.is((await answerIn({ format: 'slack', split_messages: true }, long)).json.text, `echo: ${long}`);
});

test('an answer with too many chunks is cut, and its execution says so', async (t) => {
  const node = await shared.tenant(t);
  const trigger = await createTrigger(node, {
    response_adapter: { format: 'erp', split_messages: true, max_messages: 2 },
    execution: { split_config: { max_chunk_size: 100 } },
  });
  const cutOf = async (message: string, headers = {}) => {
    const { json } = await sendSigned(node, trigger, { message }, headers);
    const execution = (await executionsOf(node, trigger))[0];
    const { truncated } = await executionOf(node, trigger, execution.id);
    t.is(execution.truncated, truncated);
    return { chunks: json.length, truncated };
  };
  const [some, many] = [30, 60].map((count) => 'word '.repeat(count).trim());
  t.deepEqual(await cutOf(some ?? ''), { chunks: 2, truncated: false });
  t.deepEqual(await cutOf(many ?? ''), { chunks: 2, truncated: true });
  t.deepEqual(await cutOf(many ?? '', { 'idempotency-key': 'k-1' }), { chunks: 2, truncated: true });
  const invoked = await asOwner(node, 'POST', `/api/triggers/${trigger.id}/invoke`, { message: many });
  t.is(invoked.json.length, 2);
  t.true((await executionsOf(node, trigger))[0].truncated);
});

test('blocked senders get an empty response, are recorded, and never run', async (t) => {
  const node = await shared.tenant(t);
  const trigger = await createTrigger(node, {
    auth: { type: 'none' },
    sender_access: { mode: 'whitelist', identity_field: 'phoneNumber', identifiers: ['whatsapp:+49171555'] },
    session_strategy: { mode: 'derive', fields: ['phoneNumber'] },
    execution: { mode: 'async', ack_response: { body: { ok: true } } },
  });
  const send = (phoneNumber: string) =>
    node.client.call('POST', trigger.path, { body: { message: 'hi', phoneNumber } });
  const stopped = await send('+49172000');
  t.is(`${stopped.status} ${stopped.text}`, '200 <Response></Response>');
  t.is(stopped.headers.get('content-type'), 'text/xml');
  t.like((await executionsOf(node, trigger))[0], {
    status: 'blocked',
    outcome: 'BLOCKED',
    input_preview: 'hi',
  });
  t.is((await send('49 171 555')).status, 202);
  await eventually(async () => (await executionsOf(node, trigger)).some((one) => one.status === 'completed'));
  await asOwner(node, 'POST', `/api/v1/consumers/${encodeURIComponent('+49171555')}/deny`, {});
  t.is((await send('+49171555')).text, '<Response></Response>');
  await asOwner(node, 'DELETE', `/api/v1/consumers/${encodeURIComponent('+49171555')}/deny`);
  const completed = (await executionsOf(node, trigger)).find((one) => one.status === 'completed');
  await asOwner(node, 'POST', `/api/v1/sessions/${completed.session_id}/handoff`, {});
  t.is((await send('+49171555')).text, '<Response></Response>');
  await eventually(
    async () => (await executionsOf(node, trigger)).some((one) => one.outcome === 'SUSPENDED'),
    {
      what: 'the message is kept for the people who took over',
    },
  );
  const wordless = await node.client.call('POST', trigger.path, { body: { phoneNumber: '+49171555' } });
  t.is(`${wordless.status} ${wordless.text}`, '200 <Response></Response>');
  const tried = await asOwner(node, 'POST', `/api/triggers/${trigger.id}/test`, {
    payload: { phoneNumber: '+49171555' },
  });
  t.like(tried.json.data, {
    query: null,
    would_run: false,
    blocked_by: 'session',
    response_preview: '<Response></Response>',
  });
  await asOwner(node, 'POST', `/api/v1/sessions/${completed.session_id}/resume`, {});
  t.is((await send('+49171555')).status, 202);
});

test('after a rotation both secrets are valid until the grace period ends', async (t) => {
  // Of its own: its clock is set forward.
  const node = await startTestNode(t);
  const before = await createTrigger(node, {});
  const rotated = await asOwner(node, 'POST', `/api/triggers/${before.id}/rotate-secret`, {
    grace_seconds: 60,
  });
  t.is(rotated.status, 200, rotated.text);
  const after = { ...before, secret: rotated.json.data.webhook_secret };
  for (const trigger of [before, after])
    t.is((await sendSigned(node, trigger, { message: 'x' })).status, 200);
  node.passMs(61_000);
  t.is((await sendSigned(node, before, { message: 'x' })).status, 401);
  t.is((await sendSigned(node, after, { message: 'x' })).status, 200);
});

test('triggers are listed, changed, tested, invoked and deleted, and never show their secret again', async (t) => {
  const node = await shared.tenant(t);
  const trigger = await createTrigger(node, {
    context_mapping: { city: '$.place.city' },
    response_adapter: { format: 'slack' },
  });
  const detail = await asOwner(node, 'GET', `/api/triggers/${trigger.id}`);
  t.false(detail.text.includes('whsec_'));
  t.true(detail.json.data.webhook_url.endsWith(trigger.path));
  const list = await node.client.call('GET', '/api/triggers', { key: node.bootstrap.api_key });
  t.is(list.json.count, 1);
  t.is((await node.client.call('GET', '/api/triggers/types', { key: node.bootstrap.api_key })).json.count, 4);
  const patched = await asOwner(node, 'PATCH', `/api/triggers/${trigger.id}`, {
    trigger_config: {
      response_adapter: { format: 'teams' },
      context_mapping: { city: null, street: '$.place.street' },
    },
  });
  t.deepEqual(patched.json.data.trigger_config, {
    context_mapping: { street: '$.place.street' },
    response_adapter: { format: 'teams' },
  });
  const doubled = { trigger_config: { context_mapping: { city: '$["place"]["city"]' } } };
  const refused = await asOwner(node, 'PATCH', `/api/triggers/${trigger.id}`, doubled);
  t.is(refused.status, 400);
  t.is(refused.json.details.field, 'trigger_config.context_mapping.city');
  for (const query_extraction of [
    { mode: 'jmespath', expression: 'message' },
    { mode: 'field', field: 'message' },
  ]) {
    const changed = await asOwner(node, 'PATCH', `/api/triggers/${trigger.id}`, {
      trigger_config: { query_extraction },
    });
    t.is(changed.status, 200, changed.text);
  }
  const wrong = await asOwner(node, 'PATCH', `/api/triggers/${trigger.id}`, {
    trigger_config: { execution: { mode: 'later' } },
  });
  t.is(wrong.status, 400);
  t.is(wrong.json.details.field, 'trigger_config.execution.mode');
  const tried = await asOwner(node, 'POST', `/api/triggers/${trigger.id}/test`, {
    payload: { message: 'hi', place: { street: 'Main' } },
  });
  t.like(tried.json.data, { query: 'hi', context: { street: 'Main' }, session_id: null, would_run: true });
  const empty = await asOwner(node, 'POST', `/api/triggers/${trigger.id}/test`, { payload: {} });
  t.like(empty.json.data, { query: null, would_run: false, blocked_by: 'payload' });
  const invoked = await node.client.call('POST', `/api/triggers/${trigger.id}/invoke`, {
    key: node.bootstrap.api_key,
    body: { message: 'now', mood: 'good' },
  });
  t.deepEqual(invoked.json, { type: 'message', text: 'echo: now' });
  const wordless = await asOwner(node, 'POST', `/api/triggers/${trigger.id}/invoke`, { mood: 'good' });
  t.is(wordless.json.text, 'echo: {"mood":"good"}');
  t.is((await executionsOf(node, trigger)).length, 2);
  t.is((await asOwner(node, 'DELETE', `/api/triggers/${trigger.id}`)).status, 200);
  t.is((await asOwner(node, 'GET', `/api/triggers/${trigger.id}`)).status, 404);
  t.is((await sendSigned(node, trigger, { message: 'x' })).status, 404);
});
