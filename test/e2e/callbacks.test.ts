import test, { type ExecutionContext } from 'ava';
import { Webhook } from 'standardwebhooks';
import { eventually } from '../support/clocks/eventually.js';
import { sharedNode } from '../support/servers/shared-node.js';
import { answerJson, startToolServer } from '../support/servers/tool-servers.js';
import {
  addSecret,
  asOwner,
  createTrigger,
  endBuffers,
  executionOf,
  executionsOf,
} from '../support/builders/triggers.js';

const shared = sharedNode(test);

test('an answer is sent in signed chunks, in order, each with its key and credential', async (t) => {
  const node = await shared.tenant(t);
  const receiver = await startToolServer(t, (_request, response) => answerJson(response, {}));
  await addSecret(node, 'receiver', 'user:pass');
  const trigger = await createTrigger(node, {
    auth: { type: 'none' },
    context_mapping: { ticket: '$.ticket' },
    execution: {
      mode: 'async',
      callback: {
        url: `${receiver.url}/tickets/{{ ticket }}`,
        auth: { type: 'basic', secret_ref: 'receiver' },
        body_template: {
          text: '{{ agent_response }}',
          n: '{{ chunk_index }}',
          of: '{{ chunk_total }}',
          ticket: '{{ ticket }}',
        },
      },
      split_config: { enabled: true, max_chunk_size: 100, inter_chunk_delay_ms: 0 },
    },
  });
  const ack = await node.client.call('POST', trigger.path, {
    body: { message: 'word '.repeat(50), ticket: 'a/1' },
  });
  t.is(ack.status, 202);
  t.like(ack.json, { success: true, status: 'accepted' });
  const execution = await eventually(async () => {
    const found = await executionOf(node, trigger, ack.json.execution_id);
    return found?.delivery_status === 'delivered' ? found : undefined;
  });
  t.true(receiver.heard.length >= 3);
  const secret = new Webhook(trigger.secret);
  for (const [index, request] of receiver.heard.entries()) {
    t.is(request.path, '/tickets/a%2F1');
    t.is(request.headers['authorization'], `Basic ${Buffer.from('user:pass').toString('base64')}`);
    t.is(request.headers['idempotency-key'], `${ack.json.execution_id}:${index + 1}`);
    const signed = Object.fromEntries(
      ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) => [
        name,
        String(request.headers[name]),
      ]),
    );
    t.notThrows(() => secret.verify(request.body, signed));
    const body = JSON.parse(request.body);
    t.is(body.n, index + 1);
    t.is(body.of, receiver.heard.length);
    t.true(body.text.startsWith(`(${index + 1}/${receiver.heard.length})\n`));
  }
  t.deepEqual(
    execution.deliveries.map(({ chunk, attempt, status_code }: Record<string, unknown>) => [
      chunk,
      attempt,
      status_code,
    ]),
    receiver.heard.map((_request, index) => [index + 1, 1, 200]),
  );
});

test('a failed chunk stops the rest and is visible, and a replay starts there', async (t) => {
  const node = await shared.tenant(t);
  let broken = true;
  const receiver = await startToolServer(t, (request, response) =>
    answerJson(response, {}, broken && String(request.headers['idempotency-key']).endsWith(':2') ? 400 : 200),
  );
  const trigger = await createTrigger(node, {
    auth: { type: 'none' },
    execution: {
      mode: 'async',
      callback: { url: receiver.url },
      split_config: { enabled: true, max_chunk_size: 100, inter_chunk_delay_ms: 0 },
    },
  });
  const ack = await node.client.call('POST', trigger.path, { body: { message: 'word '.repeat(50) } });
  await eventually(
    async () =>
      (await executionOf(node, trigger, ack.json.execution_id))?.delivery_status === 'delivery_failed',
  );
  t.deepEqual(
    receiver.heard.map(({ headers }) => String(headers['idempotency-key']).split(':')[1]),
    ['1', '2'],
  );
  const failed = await asOwner(node, 'GET', '/api/v1/deliveries?status=dead');
  t.is(failed.json.count, 1);
  t.like(failed.json.data[0], {
    execution_id: ack.json.execution_id,
    status: 'delivery_failed',
    chunk: 2,
    last_status_code: 400,
  });
  broken = false;
  const replayed = await asOwner(node, 'POST', `/api/v1/deliveries/${failed.json.data[0].id}/replay`);
  t.is(replayed.status, 200, replayed.text);
  await eventually(
    async () => (await executionOf(node, trigger, ack.json.execution_id))?.delivery_status === 'delivered',
  );
  const keys = receiver.heard.map(({ headers }) => String(headers['idempotency-key']).split(':')[1]);
  t.deepEqual(keys.slice(0, 4), ['1', '2', '2', '3']);
  const again = await asOwner(node, 'POST', `/api/v1/deliveries/${failed.json.data[0].id}/replay`);
  t.is(again.status, 409);
});

test("a retryable attempt is repeated with the same key after the receiver's pause", async (t) => {
  const node = await shared.tenant(t);
  const receiver = await startToolServer(t, (_request, response) => {
    if (receiver.heard.length > 1) return answerJson(response, {});
    response.writeHead(429, { 'retry-after': '1' });
    response.end();
  });
  const trigger = await createTrigger(node, {
    auth: { type: 'none' },
    execution: { mode: 'async', callback: { url: receiver.url } },
  });
  const ack = await node.client.call('POST', trigger.path, { body: { message: 'once' } });
  const execution = await eventually(async () => {
    const found = await executionOf(node, trigger, ack.json.execution_id);
    return found?.delivery_status === 'delivered' ? found : undefined;
  });
  t.deepEqual(
    execution.deliveries.map((one: Record<string, unknown>) => [one['attempt'], one['status_code']]),
    [
      [1, 429],
      [2, 200],
    ],
  );
  t.is(receiver.heard[0]?.headers['idempotency-key'], receiver.heard[1]?.headers['idempotency-key']);
});

/** A trigger that buffers each user's messages. Its windows are longer than a test: they end when full, or on request. */
async function startBuffering(t: ExecutionContext, buffer: Readonly<Record<string, unknown>>) {
  const node = await shared.tenant(t);
  const receiver = await startToolServer(t, (_request, response) => answerJson(response, {}));
  const trigger = await createTrigger(node, {
    auth: { type: 'none' },
    session_strategy: { mode: 'derive', fields: ['user'] },
    execution: {
      mode: 'async',
      callback: { url: receiver.url },
      message_buffer: { enabled: true, window_ms: 60_000, ...buffer },
    },
  });
  return { node, receiver, trigger };
}

test('messages that arrive together are answered together', async (t) => {
  const { node, receiver, trigger } = await startBuffering(t, { max_messages: 3, concat_separator: ' | ' });
  const send = (user: string, message: string, headers = {}) =>
    node.client.call('POST', trigger.path, { body: { user, message }, headers });
  t.deepEqual((await send('a', 'one', { 'x-webhook-id': 'm1' })).json, {
    success: true,
    status: 'buffered',
    buffered: 1,
  });
  t.deepEqual((await send('a', 'two')).json, { success: true, status: 'buffered', buffered: 2 });
  t.deepEqual((await send('a', 'one', { 'x-webhook-id': 'm1' })).json, {
    success: true,
    status: 'buffered',
    buffered: 1,
  });
  const answerOf = (text: string) =>
    eventually(() => receiver.heard.find(({ body }) => JSON.parse(body).agent_response === text), {
      what: text,
    });
  // Only now is the window over, however long the sending took.
  await endBuffers(node);
  await answerOf('echo: one | two');
  for (const message of ['x', 'y', 'z']) await send('b', message);
  await answerOf('echo: x | y | z');
  await eventually(async () =>
    (await executionsOf(node, trigger)).every((one) => one.delivery_status === 'delivered'),
  );
  const executions = await executionsOf(node, trigger);
  t.is(executions.length, 2);
  const whole = await executionOf(node, trigger, executions[1].id);
  t.deepEqual(
    whole.buffered_messages.map(({ message }: { message: string }) => message),
    ['one', 'two'],
  );
});

test('no buffer exceeds its limit when messages arrive all at once', async (t) => {
  const { node, receiver, trigger } = await startBuffering(t, { max_messages: 5 });
  const messages = Array.from({ length: 20 }, (_, index) => `m${index}`);
  const acks = await Promise.all(
    messages.map((message) => node.client.call('POST', trigger.path, { body: { user: 'a', message } })),
  );
  t.true(acks.every(({ json }) => json.buffered >= 1 && json.buffered <= 5));
  await eventually(() => receiver.heard.length === 4, { what: 'four answers' });
  const runs = (await executionsOf(node, trigger)).map(({ input_preview }) =>
    String(input_preview).split('\n'),
  );
  t.deepEqual(
    runs.map(({ length }) => length),
    [5, 5, 5, 5],
  );
  const sorted = (list: readonly string[]) => list.toSorted((one, other) => one.localeCompare(other));
  t.deepEqual(sorted(runs.flat()), sorted(messages));
});

test('a callback follows no redirect to another place and sends nothing there', async (t) => {
  const node = await shared.tenant(t);
  const other = await startToolServer(t, (_request, response) => answerJson(response, {}));
  const receiver = await startToolServer(t, (_request, response) => {
    response.writeHead(307, { location: other.url }).end();
  });
  const trigger = await createTrigger(node, {
    auth: { type: 'none' },
    execution: { mode: 'async', callback: { url: receiver.url } },
  });
  const ack = await node.client.call('POST', trigger.path, { body: { message: 'hi' } });
  const execution = await eventually(async () => {
    const found = await executionOf(node, trigger, ack.json.execution_id);
    return found?.delivery_status === 'delivery_failed' ? found : undefined;
  });
  t.like(execution.deliveries, [{ chunk: 1, attempt: 1, status_code: 307 }]);
  t.is(receiver.heard.length, 1);
  t.is(other.heard.length, 0);
});
