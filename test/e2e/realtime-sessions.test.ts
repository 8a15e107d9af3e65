import test from 'ava';
import { eventually } from '../support/clocks/eventually.js';
import { sharedNode } from '../support/servers/shared-node.js';
import { openEvents, openSocket } from '../support/clients/sockets.js';

const shared = sharedNode(test);

interface Told {
  readonly type: string;
  readonly data: Record<string, unknown>;
}

test('a change of session control is reported to everybody, and nothing unchanged is reported', async (t) => {
  const { client, bootstrap } = await shared.tenant(t);
  const key = bootstrap.api_key;
  const socket = await openSocket(`${client.baseUrl}/api/v1/realtime`, { 'x-api-key': key });
  const told = (): Told[] => socket.messages.map((text) => JSON.parse(text) as Told);
  const made = await client.call('POST', '/api/sessions', { key, body: { agent_id: bootstrap.agent_id } });
  const session_id = String(made.json.data.session_id);
  const lead = async (how: string, body: object) => {
    const answer = await client.call('POST', `/api/v1/sessions/${session_id}/${how}`, { key, body });
    t.is(answer.status, 200, answer.text);
  };
  await lead('handoff', { reason: 'a person asked' });
  await lead('handoff', { reason: 'another reason' });
  await lead('suspend', {});
  await lead('resume', {});
  await lead('resume', {});
  await lead('suspend', { expires_in_seconds: 1 });
  await eventually(() => told().length >= 5);
  t.true(told().every(({ type }) => type === 'session_control_changed'));
  const by = told()[0]?.data['by'];
  t.regex(String(by), /^key:/);
  const change = (control_mode: string, kind: string | null, previous: string, rest: object) => ({
    session_id,
    control_mode,
    kind,
    previous,
    ...rest,
  });
  t.deepEqual(
    told().map(({ data }) => data),
    [
      change('manual_handoff', 'handoff', 'engaged', { by, reason: 'a person asked' }),
      change('manual_handoff', 'suspend', 'manual_handoff', { by, reason: null }),
      change('engaged', null, 'manual_handoff', { by, reason: null }),
      change('manual_handoff', 'suspend', 'engaged', { by, reason: null }),
      change('engaged', null, 'manual_handoff', { by: 'system', reason: 'expired' }),
    ],
  );
});

test('a cancelled turn is reported once', async (t) => {
  const { client, bootstrap } = await shared.tenant(t);
  const { api_key: key, access_token: token, tenant_id: tenant } = bootstrap;
  const user = { token, tenant };
  const body = { name: 'slow', llm_config: { model: 'sim.lorem-5000-50' } };
  const agent = await client.call('POST', '/api/agents', { ...user, body });
  const agentId = String(agent.json.data.id);
  await client.call('POST', `/api/agents/${agentId}/publish`, { ...user, body: {} });
  const events = await openEvents(`${client.baseUrl}/api/v1/realtime/events`, { 'x-api-key': key });
  const leaving = new AbortController();
  t.teardown(() => leaving.abort());
  const turn = await fetch(`${client.baseUrl}/api/v2/agents/${agentId}/stream`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify({ message: 'go on' }),
    signal: leaving.signal,
  });
  const first = await turn.body?.getReader().read();
  const text = new TextDecoder().decode(first?.value);
  const idOf = (name: string): string => new RegExp(`"${name}":"([^"]+)"`).exec(text)?.[1] ?? '';
  const session = idOf('session_id');
  for (const cancelled of [true, true, false]) {
    const answer = await client.call('POST', `/api/v1/sessions/${session}/cancel`, { key, body: {} });
    t.is(answer.status, 200);
    if (cancelled) await eventually(() => events.events().length === 1);
  }
  const [event = ''] = events.events();
  t.regex(event, /^id: \d+\nevent: turn_cancelled\n/);
  const { data } = JSON.parse(/^data: (.*)$/m.exec(event)?.[1] ?? '') as Told;
  t.like(data, { session_id: session, execution_id: idOf('execution_id') });
  t.regex(String(data['by']), /^key:/);
  t.is(events.events().length, 1);
});
