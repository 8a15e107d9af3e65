// The status of the receiver's answer decides over a delivery, whatever becomes of the answer's body.
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { instantOf, systemTime } from '../../../cluster/index.js';
import { Attempts } from '../../../src/automation/outbox/attempts.js';
import { parseTriggerConfig } from '../../../src/automation/triggers/config/trigger-config.js';
import { createEgress } from '../../../src/infra/egress/index.js';
import { tenantScope } from '../../../src/kernel/tenant-scope.js';
import { seal } from '../../support/builders/sending.js';

/** The result of an attempt at a callback whose receiver answers so, and the requests that it got. */
async function attempt(t: ExecutionContext, answer: RequestListener) {
  let requests = 0;
  const server = createServer((request, response) => {
    requests += 1;
    answer(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const egress = createEgress({ allow: ['127.0.0.1/32'] });
  t.teardown(async () => {
    await egress.close();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const scope = tenantScope(randomUUID());
  const parsed = parseTriggerConfig('webhook', {
    auth: { type: 'none' },
    execution: { mode: 'async', callback: { url: `http://127.0.0.1:${port}/` } },
  });
  const unasked = (what: string) => () => Promise.reject(new Error(`${what} was asked`));
  const attempts = new Attempts({
    live: { get: async (id) => ({ id, scope, parsed, secrets: [], formerSecretUntilMs: 0 }) },
    seal,
    senderBlocks: { closedFor: async () => undefined },
    feed: { subscribe: () => () => undefined },
    blockTopics: [],
    vault: { resolve: unasked('the vault') },
    channels: { twilio: '', whatsapp_cloud: '', slack: '' },
    egress,
    operatorEgress: egress,
    mail: { send: unasked('the mail server') },
    addresses: { sendingAs: unasked('an address'), requireSender: unasked('an address') },
    time: systemTime,
    mayAct: () => true,
    report: (attempted, error) => t.fail(`${attempted}: ${String(error)}`),
  });
  t.teardown(() => attempts.stop());
  const delivery = {
    id: randomUUID(),
    trigger_id: randomUUID(),
    session_id: randomUUID(),
    execution_id: randomUUID(),
    key: 'key',
    chunk: 1,
    chunk_total: 1,
    attempts: 1,
    sealed: seal.seal(scope, { chunks: ['text'], context: {}, manual: false }),
    created_at: new Date(),
  };
  const startedAt = performance.now();
  const result = await attempts.make(scope, delivery, instantOf(systemTime));
  return { result, requests, tookMs: performance.now() - startedAt };
}

test('a callback is delivered as soon as its receiver answers so, though the body never ends', async (t) => {
  const { result, requests, tookMs } = await attempt(t, (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: x\n\n');
  });
  t.like(result, { kind: 'answered', status: 200 });
  t.is(requests, 1);
  t.true(tookMs < 10_000, `${tookMs} ms`);
});

test('a callback is delivered when its receiver answers so, though the body breaks', async (t) => {
  const { result } = await attempt(t, (_request, response) => {
    response.writeHead(201, { 'content-length': 10 }).write('ab', () => response.destroy());
  });
  t.like(result, { kind: 'answered', status: 201 });
});

test('a refusal keeps its status, and when to come again, though its body breaks', async (t) => {
  const { result } = await attempt(t, (_request, response) => {
    response
      .writeHead(503, { 'content-length': 10, 'retry-after': '7' })
      .write('ab', () => response.destroy());
  });
  t.like(result, { kind: 'answered', status: 503, retryAfter: '7' });
});
