// Section "Triggers": callbacks of every type, the lengths that channels take, and failures that are told.
import { createHmac } from 'node:crypto';
import test from 'ava';
import { Webhook } from 'standardwebhooks';
import { eventually } from '../support/clocks/eventually.js';
import { startShop } from '../support/servers/databases.js';
import { answerJson, startToolServer } from '../support/servers/tool-servers.js';
import { operatorToken, type TenantNode } from '../support/servers/node.js';
import { sharedNode } from '../support/servers/shared-node.js';
import type { Json } from '../support/clients/client.js';
import { tenantView } from '../support/database/owner-view.js';
import {
  addSecret,
  asOwner,
  createTrigger,
  executionsOf,
  type TestTrigger,
} from '../support/builders/triggers.js';

const shared = sharedNode(test);
const paragraphs = Array.from({ length: 8 }, (_, index) => `${index} ${'word '.repeat(80)}`).join('\n\n');

/** Waits for the end of the trigger's messages, which puts their answers into the outbox, and lists what is there. */
async function deliveriesAtEnd(node: TenantNode, trigger: TestTrigger): Promise<Json[]> {
  const rows = await tenantView(node);
  const hasEnded = async (): Promise<boolean> => {
    const states = await rows.query('select state from trigger_inbox where trigger_id = $1', [trigger.id]);
    return states.rows.length > 0 && states.rows.every(({ state }) => state === 'done');
  };
  await eventually(hasEnded, { everyMs: 100 });
  await rows.end();
  return (await asOwner(node, 'GET', `/api/v1/deliveries?trigger_id=${trigger.id}`)).json.data;
}

test('a schedule sends its answers to its callback, signed and in chunks', async (t) => {
  const node = await shared.tenant(t);
  let refusals = 1;
  const receiver = await startToolServer(t, (_request, response) =>
    answerJson(response, {}, refusals-- > 0 ? 503 : 200),
  );
  const trigger = await createTrigger(
    node,
    {
      cron: '* * * * * *',
      message: 'word '.repeat(50),
      context: { place: 'here' },
      execution: {
        mode: 'async',
        callback: { url: `${receiver.url}/{{ place }}` },
        split_config: { enabled: true, max_chunk_size: 100, inter_chunk_delay_ms: 0 },
      },
    },
    'schedule',
  );
  t.regex(trigger.secret, /^whsec_/);
  await eventually(() => (receiver.heard.length >= 2 ? true : undefined), { everyMs: 100 });
  await asOwner(node, 'POST', `/api/triggers/${trigger.id}/disable`);
  const execution = await eventually(
    async () => (await executionsOf(node, trigger)).find((one) => one.delivery_status === 'delivered'),
    { everyMs: 100 },
  );
  const ofIt = receiver.heard.filter(({ body }) => JSON.parse(body).execution_id === execution.id);
  t.is(ofIt[0]?.path, '/here');
  t.regex(JSON.parse(ofIt[0]?.body ?? '').agent_response, /^\(1\/\d\)\necho: word/);
  t.regex(String(ofIt[0]?.headers['webhook-signature']), /^v1,/);
  t.is(ofIt[0]?.headers['idempotency-key'], `${execution.id}:1`);
  const stats = await asOwner(node, 'GET', `/api/triggers/${trigger.id}/stats`);
  t.is(stats.status, 200);
  t.deepEqual(Object.keys(stats.json.data).toSorted(), ['avg_latency_ms', 'executions']);
  t.true(stats.json.data.executions.completed >= 1);
  const strange = await (await shared.tenant(t)).client.call('GET', `/api/triggers/${trigger.id}/stats`);
  t.is(strange.status, 401);
});

test('a callback that a change adds is signed with the secret that the change answers', async (t) => {
  const node = await shared.tenant(t);
  let status = 200;
  const receiver = await startToolServer(t, (_request, response) => answerJson(response, {}, status));
  const trigger = await createTrigger(node, { cron: '* * * * * *', message: 'tick' }, 'schedule');
  t.falsy(trigger.secret);
  const path = `/api/triggers/${trigger.id}`;
  const change = (callback: object) =>
    asOwner(node, 'PATCH', path, { trigger_config: { execution: { mode: 'async', callback } } });
  const changed = await change({ url: receiver.url });
  t.is(changed.status, 200, changed.text);
  const secret = new Webhook(changed.json.data.webhook_secret);
  const again = await change({ send_failures: true });
  t.is(again.json.data.webhook_secret, undefined, 'it is shown once');
  const [first] = await eventually(() => (receiver.heard.length > 0 ? receiver.heard : undefined), {
    everyMs: 100,
  });
  const names = ['webhook-id', 'webhook-timestamp', 'webhook-signature'];
  const signed = Object.fromEntries(names.map((name) => [name, String(first?.headers[name])]));
  t.notThrows(() => secret.verify(first?.body ?? '', signed));

  // As the release before has left it.
  status = 401;
  const rows = await tenantView(node);
  await rows.query('update triggers set secret_id = null where id = $1', [trigger.id]);
  await rows.end();
  await asOwner(node, 'POST', `${path}/enable`);
  const refused = await eventually(
    async () => {
      const { json } = await asOwner(node, 'GET', '/api/v1/deliveries?status=dead');
      return json.data.find(({ last_error }: { last_error: string }) => last_error.includes('signed'));
    },
    { everyMs: 300 },
  );
  t.is(
    refused.last_error,
    'The receiver answered 401. The callback is not signed: the trigger has no secret. Rotate its secret to give it one.',
  );
  const healed = await asOwner(node, 'PATCH', path, { name: 'healed', enabled: false });
  t.regex(healed.json.data.webhook_secret, /^whsec_/);
});

test('the figures of a trigger are those of its own tenant', async (t) => {
  const node = await shared.tenant(t);
  const other = await shared.tenant(t);
  const trigger = await createTrigger(node, {});
  const figures = await asOwner(node, 'GET', `/api/triggers/${trigger.id}/stats`);
  t.deepEqual(figures.json.data, { executions: { total: 0, completed: 0, failed: 0 }, avg_latency_ms: 0 });
  t.is((await asOwner(other, 'GET', `/api/triggers/${trigger.id}/stats`)).status, 404);
});

test('unknown keys of a configuration are refused for every type', async (t) => {
  const node = await shared.tenant(t);
  const valid: Record<string, object> = {
    webhook: {},
    schedule: { cron: '* * * * *', message: 'x' },
    email: {},
    db_event: {
      database_config_id: '018f0000-0000-7000-8000-000000000001',
      table: 't',
      cursor_column: 'c',
      message_template: 'x',
    },
  };
  for (const [trigger_type, config] of Object.entries(valid)) {
    for (const wrong of [{ surprise: 1 }, { execution: { surprise: 1 } }]) {
      const { status, json } = await asOwner(node, 'POST', '/api/triggers', {
        agent_id: node.bootstrap.agent_id,
        name: 'x',
        trigger_type,
        trigger_config: { ...config, ...wrong },
      });
      const path = 'surprise' in wrong ? 'trigger_config.surprise' : 'trigger_config.execution.surprise';
      t.like(
        { status, json },
        { status: 400, json: { error: 'validation_error', details: { field: path } } },
        trigger_type,
      );
    }
  }
});

test('a turn that ends by time is reported to a callback that asks for failures, and to no other', async (t) => {
  const node = await shared.tenant(t);
  const receiver = await startToolServer(t, (_request, response) => answerJson(response, {}));
  const { agent_id: agent } = node.bootstrap;
  await asOwner(node, 'PATCH', `/api/agents/${agent}`, { llm_config: { model: 'sim.lorem-2-8000' } });
  await asOwner(node, 'POST', `/api/agents/${agent}/publish`, {});
  const withFailures = (send_failures: boolean) =>
    createTrigger(node, {
      auth: { type: 'none' },
      execution: {
        mode: 'async',
        timeout_ms: 1_000,
        callback: { url: receiver.url, send_failures, body_template: { text: '{{ agent_response }}' } },
      },
    });
  const [loud, quiet] = [await withFailures(true), await withFailures(false)];
  const told = await node.client.call('POST', loud.path, { body: { message: 'hi' } });
  await node.client.call('POST', quiet.path, { body: { message: 'hi' } });
  t.deepEqual(await deliveriesAtEnd(node, quiet), []);
  const [ended] = await executionsOf(node, quiet);
  t.like(ended, { status: 'timeout', outcome: 'TIMEOUT', delivery_status: 'none' });
  await eventually(() => receiver.heard.length > 0, { everyMs: 100 });
  const [failure, ...others] = receiver.heard.map(({ body }) => JSON.parse(body));
  t.deepEqual(others, []);
  t.deepEqual(Object.keys(failure).toSorted(), [
    'agent_response',
    'error',
    'execution_id',
    'session_id',
    'trigger_id',
  ]);
  t.like(failure, { agent_response: null, execution_id: told.json.execution_id, trigger_id: loud.id });
  t.is(typeof failure.error.code, 'string');
  t.not(failure.error.message, '');
});

test('a new row of a table is answered at the callback, in chunks, and a timeout if it asks', async (t) => {
  const { place, client } = await startShop(t);
  await client.query('create table visits (id bigint primary key, guest text)');
  const node = await shared.tenant(t);
  const made = await asOwner(node, 'POST', '/api/database-configs', {
    name: 'shop',
    provider: 'postgresql',
    connection_config: place,
  });
  let refusals = 1;
  const receiver = await startToolServer(t, (_request, response) =>
    answerJson(response, {}, refusals-- > 0 ? 503 : 200),
  );
  const onRows = (path: string, callback: object, template = 'Guest {{ guest }}', timeout_ms?: number) =>
    createTrigger(
      node,
      {
        database_config_id: made.json.data.id,
        table: 'public.visits',
        cursor_column: 'id',
        poll_ms: 100,
        message_template: template,
        execution: {
          timeout_ms,
          callback: { url: `${receiver.url}/${path}`, ...callback },
          split_config: { enabled: true, max_chunk_size: 100, inter_chunk_delay_ms: 0 },
        },
      },
      'db_event',
    );
  const heard = (path: string) =>
    receiver.heard.filter((one) => one.path === `/${path}`).map(({ body }) => JSON.parse(body));
  const long = await onRows('long', {}, `Guest {{ guest }} ${'word '.repeat(50)}`);
  await client.query("insert into visits values (1, 'Ada')");
  const answered = await eventually(
    async () => (await executionsOf(node, long)).find((one) => one.delivery_status === 'delivered'),
    { everyMs: 100 },
  );
  await asOwner(node, 'POST', `/api/triggers/${long.id}/disable`);
  const chunks = heard('long');
  t.true(chunks.length > 3, 'each chunk, and the first once more after its refusal');
  t.deepEqual(chunks[0], chunks[1]);
  t.regex(chunks[0].agent_response, /^\(1\/\d\)\necho: Guest Ada word/);
  t.true(chunks.every(({ execution_id }) => execution_id === answered.id));

  const { agent_id: agent } = node.bootstrap;
  await asOwner(node, 'PATCH', `/api/agents/${agent}`, { llm_config: { model: 'sim.lorem-2-8000' } });
  await asOwner(node, 'POST', `/api/agents/${agent}/publish`, {});
  const loud = await onRows('loud', { send_failures: true }, undefined, 1_000);
  const quiet = await onRows('quiet', {}, undefined, 1_000);
  await client.query("insert into visits values (2, 'Bob')");
  await eventually(() => heard('loud').length === 1, { everyMs: 100 });
  const [told] = await executionsOf(node, loud);
  t.is(told?.status, 'timeout');
  const [{ error, ...others }] = heard('loud');
  t.deepEqual(others, {
    agent_response: null,
    session_id: told?.session_id,
    execution_id: told?.id,
    trigger_id: loud.id,
  });
  t.deepEqual(Object.keys(error).toSorted(), ['code', 'message']);
  t.deepEqual([await deliveriesAtEnd(node, quiet), heard('quiet')], [[], []]);
});

test('a turn that a takeover ends is told to a callback that asks for failures', async (t) => {
  const node = await shared.tenant(t);
  const receiver = await startToolServer(t, (_request, response) => answerJson(response, {}));
  const { agent_id: agent } = node.bootstrap;
  await asOwner(node, 'PATCH', `/api/agents/${agent}`, { llm_config: { model: 'sim.lorem-600-100' } });
  await asOwner(node, 'POST', `/api/agents/${agent}/publish`, {});
  const trigger = await createTrigger(node, {
    auth: { type: 'none' },
    session_strategy: { mode: 'derive', fields: ['person'] },
    execution: { mode: 'async', callback: { url: receiver.url, send_failures: true } },
  });
  for (const control of ['handoff', 'suspend']) {
    const sent = await node.client.call('POST', trigger.path, { body: { message: 'hi', person: control } });
    t.is(sent.status, 202, sent.text);
    const { execution_id: id } = sent.json;
    const running = await eventually(
      async () =>
        (await executionsOf(node, trigger)).find((one) => one.id === id && one.status === 'running'),
      { everyMs: 100 },
    );
    const path = `/api/v1/sessions/${running.session_id}/${control}`;
    t.is((await asOwner(node, 'POST', path, {})).status, 200);
    const heard = await eventually(
      () => receiver.heard.map(({ body }) => JSON.parse(body)).find((body) => body.execution_id === id),
      { everyMs: 100 },
    );
    const { error, ...others } = heard;
    t.deepEqual(others, {
      agent_response: null,
      session_id: running.session_id,
      execution_id: id,
      trigger_id: trigger.id,
    });
    t.is(error.code, 'suspended');
    const ended = await eventually(
      async () =>
        (await executionsOf(node, trigger)).find(
          (one) => one.id === id && one.delivery_status === 'delivered',
        ),
      { everyMs: 100 },
    );
    t.like(ended, { status: 'blocked', outcome: 'SUSPENDED' });
  }
});

test('a failure before the turn is told too: no credential for the model, no tokens left', async (t) => {
  const node = await shared.tenant(t);
  const receiver = await startToolServer(t, (_request, response) => answerJson(response, {}));
  const { agent_id: agent, tenant_id: tenant } = node.bootstrap;
  const execution = (path: string) => ({
    mode: 'async',
    callback: { url: `${receiver.url}/${path}`, send_failures: true },
  });
  const heard = (path: string) =>
    receiver.heard.filter((one) => one.path === `/${path}`).map(({ body }) => JSON.parse(body));
  const webhook = await createTrigger(node, { auth: { type: 'none' }, execution: execution('model') });
  const everySecond = { cron: '* * * * * *', message: 'tick', execution: execution('tokens') };
  const schedule = await createTrigger(node, everySecond, 'schedule');
  const plan = { plan: 'enterprise', settings: { monthly_tokens: 1 } };
  await node.client.call('PATCH', `/api/tenants/${tenant}/plan`, { token: operatorToken, body: plan });
  const told = await eventually(() => heard('tokens').find((body) => body.error !== undefined), {
    everyMs: 100,
  });
  await asOwner(node, 'POST', `/api/triggers/${schedule.id}/disable`);
  t.like(told, { agent_response: null, error: { code: 'quota_exceeded' }, trigger_id: schedule.id });

  const room = { plan: 'enterprise', settings: { monthly_tokens: 1_000_000 } };
  await node.client.call('PATCH', `/api/tenants/${tenant}/plan`, { token: operatorToken, body: room });
  await asOwner(node, 'PATCH', `/api/agents/${agent}`, { llm_config: { model: 'openai.gpt-4.1-mini' } });
  await asOwner(node, 'POST', `/api/agents/${agent}/publish`, {});
  const sent = await node.client.call('POST', webhook.path, { body: { message: 'hi' } });
  t.is(sent.status, 202, sent.text);
  const failure = await eventually(() => heard('model')[0], { everyMs: 100 });
  t.like(failure, { agent_response: null, execution_id: sent.json.execution_id, trigger_id: webhook.id });
  t.deepEqual(Object.keys(failure.error).toSorted(), ['code', 'message']);
  const keys = receiver.heard.map(({ headers }) => headers['idempotency-key']);
  t.true(keys.includes(`${sent.json.execution_id}:1`), 'as answers have');
});

test('a long answer to Twilio is several messages of a length that it takes', async (t) => {
  const node = await shared.tenant(t);
  await addSecret(node, 'twilio', 'AC123:auth-token');
  const trigger = await createTrigger(node, {
    channel: { type: 'twilio', auth: { secret_ref: 'twilio' } },
  });
  const form = new URLSearchParams({
    MessageSid: 'SM1',
    From: '+4917155501',
    To: '+14155238886',
    Body: paragraphs,
  });
  const fields = [...form].toSorted(([one], [other]) => (one < other ? -1 : 1));
  const signed = `${node.node.baseUrl}${trigger.path}${fields.map(([name, value]) => name + value).join('')}`;
  const { status, text } = await node.client.call('POST', trigger.path, {
    body: form.toString(),
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      'x-twilio-signature': createHmac('sha1', 'auth-token').update(signed).digest('base64'),
    },
  });
  t.is(status, 200);
  const messages = [...text.matchAll(/<Message>([^<]*)<\/Message>/g)].map(([, message = '']) => message);
  t.is(messages.length, 3);
  t.true(messages.every((message) => message.length <= 1_500));
  t.true(
    messages.every((message) => /^\(\d\/3\)\n(?:echo: )?\d word/.test(message)),
    'cut between paragraphs',
  );
});
