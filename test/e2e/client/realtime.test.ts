import { ApiError, type ConnectionState, createClient, type RealtimeEvent } from '@troupe/client';
import test from 'ava';
import { eventually } from '../../support/clocks/eventually.js';
import { CuttingProxy } from '../../support/servers/cutting-proxy.js';
import type { TenantNode } from '../../support/servers/node.js';
import { sharedNode } from '../../support/servers/shared-node.js';

const shared = sharedNode(test);

/** Something that every reader of the tenant is told. */
async function deny({ client, bootstrap }: TenantNode, consumer: string): Promise<void> {
  const { status } = await client.call('POST', `/api/v1/consumers/${consumer}/deny`, {
    key: bootstrap.api_key,
    body: {},
  });
  if (status !== 200) throw new Error(`deny answered ${status}`);
}

test('events go on over cut connections: nothing lost, nothing twice', async (t) => {
  const node = await shared.tenant(t);
  const proxy = await CuttingProxy.before(node.client.baseUrl, () => ({ events: 1 }));
  t.teardown(() => proxy.close());
  const troupe = createClient({ baseUrl: proxy.url, apiKey: node.bootstrap.api_key });
  const seen: RealtimeEvent[] = [];
  const states: ConnectionState[] = [];
  const abort = new AbortController();
  const read = async (): Promise<void> => {
    const options = {
      signal: abort.signal,
      onConnection: (state: ConnectionState) => void states.push(state),
    };
    for await (const event of troupe.realtime.events(options)) {
      seen.push(event);
      proxy.cut();
    }
  };
  const reading = read().catch((error: unknown) => error);
  await eventually(() => states.includes('open'));
  // Some come while there is no connection, others together.
  const names = Array.from({ length: 12 }, (_, index) => `person-${index}`);
  for (const name of names) await deny(node, name);
  await eventually(() => seen.length >= names.length);
  abort.abort(new Error('seen'));
  t.is(await reading.then((error) => (error as Error).message), 'seen');
  t.deepEqual(
    seen.map(({ data }) => data['consumer_key']),
    names,
  );
  t.true(states.filter((state) => state === 'lost').length >= names.length - 1);
});

test('a connection that is lost before its first event misses nothing', async (t) => {
  const node = await shared.tenant(t);
  const proxy = await CuttingProxy.before(node.client.baseUrl, () => undefined);
  t.teardown(() => proxy.close());
  const troupe = createClient({ baseUrl: proxy.url, apiKey: node.bootstrap.api_key });
  const seen: RealtimeEvent[] = [];
  const abort = new AbortController();
  const read = async (): Promise<void> => {
    for await (const event of troupe.realtime.events({ signal: abort.signal })) seen.push(event);
  };
  await deny(node, 'before');
  const reading = read().catch(() => undefined);
  await eventually(() => proxy.passed('id: '));
  proxy.refuse(true);
  await deny(node, 'meanwhile');
  proxy.refuse(false);
  await eventually(() => seen.length > 0);
  abort.abort();
  await reading;
  t.deepEqual(
    seen.map(({ data }) => data['consumer_key']),
    ['meanwhile'],
  );
});

test('only the wanted types are given, and a refused credential ends the stream', async (t) => {
  const node = await shared.tenant(t);
  const troupe = createClient({ baseUrl: node.client.baseUrl, apiKey: node.bootstrap.api_key });
  const events = troupe.realtime.events({ types: ['session_control_changed'], lastEventId: '0' });
  const session = await troupe.sessions.create({ body: { agent_id: node.bootstrap.agent_id } });
  await deny(node, 'unwanted');
  await troupe.sessions.handoff({ path: { id: session.data.session_id } });
  const { value } = await events.next();
  t.is(value?.type, 'session_control_changed');
  await events.return();
  const stranger = createClient({ baseUrl: node.client.baseUrl, apiKey: 'svc_live_nobody' });
  const error = await t.throwsAsync(stranger.realtime.events().next(), { instanceOf: ApiError });
  t.is(error?.code, 'invalid_api_key');
});
