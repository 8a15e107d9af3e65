import { ApiError, ConnectionError, createClient, type TurnEvent } from '@troupe/client';
import test from 'ava';
import { publishAgent } from '../../support/builders/published-agents.js';
import { eventually } from '../../support/clocks/eventually.js';
import { CuttingProxy } from '../../support/servers/cutting-proxy.js';
import { startTestNode, type TenantNode } from '../../support/servers/node.js';
import { sharedNode } from '../../support/servers/shared-node.js';

const shared = sharedNode(test);

function clientOf({ client, bootstrap }: TenantNode) {
  return createClient({ baseUrl: client.baseUrl, apiKey: bootstrap.api_key });
}

test('a turn goes on at another node when its own takes no connection any more', async (t) => {
  // Of its own: another node joins it.
  const first = await startTestNode(t);
  const second = await startTestNode(t, { databaseUrl: first.databaseUrl, dataDir: first.dataDir });
  const agentId = await publishAgent(first.client, first.bootstrap, { model: 'sim.lorem-8-5' });
  const proxy = await CuttingProxy.before(first.client.baseUrl, () => ({ events: 3 }));
  t.teardown(() => proxy.close());
  const troupe = createClient({
    baseUrl: [proxy.url, second.client.baseUrl],
    apiKey: first.bootstrap.api_key,
  });
  const turn = troupe.agents.chat(agentId, 'words');
  const events: TurnEvent[] = [];
  for await (const event of turn) {
    events.push(event);
    if (events.length === 3) proxy.refuse(true);
  }
  const whole: TurnEvent[] = [];
  for await (const event of clientOf(first).executions.follow(turn.executionId ?? '')) whole.push(event);
  t.deepEqual(events, whole);
  t.is(events.at(-1)?.type, 'done');
});

test('aborting ends the reading and not the turn, cancelling ends the turn', async (t) => {
  const node = await shared.tenant(t);
  const troupe = clientOf(node);
  const agentId = await publishAgent(node.client, node.bootstrap, { model: 'sim.lorem-30-20' });
  const abort = new AbortController();
  const left = troupe.agents.chat(agentId, 'words', { signal: abort.signal });
  await t.throwsAsync(
    async () => {
      for await (const event of left) if (event.type === 'delta') abort.abort(new Error('read enough'));
    },
    { message: 'read enough' },
  );
  const { lastEventId } = left;
  const again = troupe.executions.follow(
    left.executionId ?? '',
    lastEventId === undefined ? {} : { lastEventId },
  );
  const seen: TurnEvent[] = [];
  for await (const event of again) seen.push(event);
  t.false(
    seen.some(({ type }) => type === 'metadata'),
    'it goes on after the last event',
  );
  t.is(again.sessionId, left.sessionId);
  t.like(seen.at(-1), { type: 'done', outcome: 'COMPLETED' });

  const slow = await publishAgent(node.client, node.bootstrap, { model: 'sim.lorem-5000-50' });
  const cancelled = troupe.agents.chat(slow, 'words');
  let last: TurnEvent | undefined;
  let asked: Promise<boolean> | undefined;
  for await (const event of cancelled) {
    last = event;
    if (event.type === 'delta') asked ??= cancelled.cancel();
  }
  t.true(await asked);
  t.like(last, { type: 'done', outcome: 'CANCELLED' });
  t.false(await cancelled.cancel());
});

test('leaving the loop closes the connection, and with cancelOnDisconnect ends the turn', async (t) => {
  const node = await shared.tenant(t);
  const troupe = clientOf(node);
  const agentId = await publishAgent(node.client, node.bootstrap, { model: 'sim.lorem-5000-50' });
  const turn = troupe.agents.chat(agentId, 'words', { cancelOnDisconnect: true });
  for await (const event of turn) if (event.type === 'delta') break;
  const path = { id: turn.executionId ?? '' };
  await eventually(async () => (await troupe.executions.get({ path })).data.status === 'cancelled');
  t.pass();
});

test('a refused message, an unknown turn and a lost one reject with what is known', async (t) => {
  const node = await shared.tenant(t);
  const troupe = clientOf(node);
  const refused = await t.throwsAsync(troupe.agents.chat(node.bootstrap.agent_id, {}).result(), {
    instanceOf: ApiError,
  });
  t.is(refused?.code, 'VALIDATION_ERROR');
  const unknown = troupe.executions.follow('00000000-0000-4000-8000-000000000000');
  t.is((await t.throwsAsync(unknown.result(), { instanceOf: ApiError }))?.status, 404);
  const proxy = await CuttingProxy.before(node.client.baseUrl, () => ({ events: 1 }));
  t.teardown(() => proxy.close());
  const far = createClient(
    { baseUrl: proxy.url, apiKey: node.bootstrap.api_key },
    { after: (ms, call) => (ms >= 30_000 ? () => undefined : (queueMicrotask(call), () => undefined)) },
  );
  const turn = far.agents.chat(node.bootstrap.agent_id, 'hello', { reconnects: 2 });
  const lost = await t.throwsAsync(
    async () => {
      for await (const event of turn) if (event.type === 'metadata') proxy.refuse(true);
    },
    { instanceOf: ConnectionError },
  );
  t.is(lost?.executionId, turn.executionId);
  t.truthy(lost?.lastEventId);
});
