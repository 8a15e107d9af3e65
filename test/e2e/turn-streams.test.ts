import { setTimeout as delay } from 'node:timers/promises';
import { createClient } from '@troupe/client';
import test from 'ava';
import { eventOf, startConversations, typesOf } from '../support/servers/conversations.js';
import { eventually } from '../support/clocks/eventually.js';
import { startTestNode } from '../support/servers/node.js';
import { tenantView } from '../support/database/owner-view.js';
import { sharedNode } from '../support/servers/shared-node.js';
import { RefusedTurn } from '../support/clients/turn-reader.js';

const shared = sharedNode(test);

test('a turn streams metadata, its text in pieces, the whole text once, and one done', async (t) => {
  const node = await shared.tenant(t);
  const talk = await startConversations(node);
  const turn = await talk.say({ message: 'what are actors?', metadata: { trace_id: 'trace-1' }, unknown: 1 });
  const types = typesOf(turn);
  t.is(types[0], 'metadata');
  t.deepEqual(eventOf(turn, 'metadata'), {
    type: 'metadata',
    accepted_fields: ['message', 'metadata'],
    ignored_fields: [{ field: 'unknown', reason: 'unknown_field' }],
    session_id: turn.sessionId,
    execution_id: turn.executionId,
  });
  t.is(turn.text, 'echo: what are actors?');
  t.is(turn.response, turn.text);
  t.deepEqual(types.slice(-3), ['response', 'metrics', 'done']);
  t.is(types.filter((type) => type === 'response').length, 1);
  t.deepEqual(eventOf(turn, 'done'), {
    type: 'done',
    outcome: 'COMPLETED',
    session_id: turn.sessionId,
    execution_id: turn.executionId,
  });
  const metrics = eventOf(turn, 'metrics');
  t.is(metrics?.['model'], 'sim.echo');
  t.is(metrics?.['provider'], 'sim');
  t.is(metrics?.['tool_calls'], 0);
  const found = await talk.get('/api/v1/executions?trace_id=trace-1');
  t.is(found.count, 1);
  t.is(found.data[0].id, turn.executionId);
  t.is(found.data[0].status, 'completed');
  const detail = await talk.get(`/api/v1/executions/${turn.executionId}`);
  t.is(detail.data.steps[0].name, 'agent.tool-loop');
  t.false('admitted' in detail.data.steps[0].detail, 'only the turn reads it');
});

test('the built-in echo streams word by word, also if its words come at once', async (t) => {
  const node = await shared.tenant(t);
  const talk = await startConversations(node);
  const { events } = await talk.say('what are actors?');
  const words = events.flatMap(({ type, data }) => (type === 'delta' ? [data['content']] : []));
  t.deepEqual(words, ['echo:', ' what', ' are', ' actors?']);
});

test('a stream cut after every event continues without a gap or a repeat', async (t) => {
  const node = await shared.tenant(t);
  const talk = await startConversations(node, 'sim.lorem-8-5');
  const whole = await talk.say('words');
  for (let cutAfter = 1; cutAfter < whole.events.length; cutAfter += 1) {
    const turn = await talk.say('words', { cutAfter });
    t.is(turn.text, turn.response ?? 'none', `cut after ${cutAfter}`);
    t.is(turn.outcomes.length, 1);
    t.true(turn.cuts >= 1);
  }
});

test('a finished turn can be read again from any event, also after its session was unloaded', async (t) => {
  const node = await shared.tenant(t);
  const talk = await startConversations(node, 'sim.lorem-6-2');
  const turn = await talk.say('words');
  for (const { id } of turn.events) {
    const response = await fetch(`${node.client.baseUrl}/api/v1/executions/${turn.executionId}/stream`, {
      headers: { 'x-api-key': node.bootstrap.api_key, 'last-event-id': String(id) },
    });
    const ids = [...(await response.text()).matchAll(/^id: (\d+)$/gm)].map((match) => Number(match[1]));
    t.deepEqual(
      ids,
      turn.events.map((event) => event.id).filter((other) => other > id),
    );
  }
});

test('after the last event of a finished turn the answer says that nothing follows', async (t) => {
  const node = await shared.tenant(t);
  const talk = await startConversations(node, 'sim.lorem-6-2');
  const turn = await talk.say('words');
  const read = (id: number) =>
    fetch(`${node.client.baseUrl}/api/v1/executions/${turn.executionId}/stream`, {
      headers: { 'x-api-key': node.bootstrap.api_key, 'last-event-id': String(id) },
    });
  const done = turn.events.at(-1)?.id ?? 0;
  const nothing = await read(done);
  t.is(nothing.status, 204);
  t.is(nothing.headers.get('x-execution-id'), turn.executionId);
  t.is(await nothing.text(), '');
  const last = await read(done - 1);
  t.is(last.status, 200);
  t.regex(await last.text(), /event: done/);
  // The client does not connect again.
  const client = createClient({ baseUrl: node.client.baseUrl, apiKey: node.bootstrap.api_key });
  const events: unknown[] = [];
  const followed = client.executions.follow(turn.executionId, { lastEventId: String(done), reconnects: 0 });
  for await (const event of followed) events.push(event);
  t.deepEqual(events, []);
});

test('an hour after its end a turn continues from any event with what is left of its end', async (t) => {
  const node = await shared.tenant(t);
  const talk = await startConversations(node, 'sim.lorem-6-2');
  const turn = await talk.say('words');
  const rows = await tenantView(node);
  t.teardown(() => rows.end());
  const expired =
    "update execution_logs set expires_at = now() - interval '1 second' where execution_id = $1";
  t.is((await rows.query(expired, [turn.executionId])).rowCount, 1);
  const last = turn.events.slice(-3).map(({ id, type }) => `${id} ${type}`);
  for (const [place, { id }] of turn.events.entries()) {
    const response = await fetch(`${node.client.baseUrl}/api/v1/executions/${turn.executionId}/stream`, {
      headers: { 'x-api-key': node.bootstrap.api_key, 'last-event-id': String(id) },
    });
    const left = last.slice(Math.max(0, place + 1 - (turn.events.length - 3)));
    t.is(response.status, left.length === 0 ? 204 : 200, `after ${id}`);
    const sent = [...(await response.text()).matchAll(/^id: (\d+)\nevent: (\w+)$/gm)];
    t.deepEqual(
      sent.map((match) => `${match[1]} ${match[2]}`),
      left,
    );
  }
});

test('turns of one session run one after the other, in order of arrival', async (t) => {
  const node = await shared.tenant(t);
  const talk = await startConversations(node, 'sim.lorem-5-20');
  const { json } = await talk.post('/api/sessions', { agent_id: talk.agentId });
  const sessionId = String(json.data.session_id);
  let begun = 0;
  const onEvent = ({ type }: { type: string }): void => {
    if (type === 'metadata') begun += 1;
  };
  const turns = [];
  for (let index = 0; index < 6; index += 1) {
    turns.push(talk.say({ message: `turn ${index}`, session_id: sessionId }, { onEvent }));
    await eventually(() => begun === index + 1);
  }
  for (const { outcomes } of await Promise.all(turns)) t.deepEqual(outcomes, ['COMPLETED']);
  const { data } = await talk.get(`/api/v1/sessions/${sessionId}/messages`);
  t.deepEqual(
    data.map(({ role }: { role: string }) => role),
    Array.from({ length: 12 }, (_, index) => (index % 2 === 0 ? 'user' : 'assistant')),
  );
  t.deepEqual(
    data
      .filter(({ role }: { role: string }) => role === 'user')
      .map(({ content }: { content: string }) => content),
    Array.from({ length: 6 }, (_, index) => `turn ${index}`),
  );
});

test('32 turns wait behind a running one, the next is refused, and all can be cancelled', async (t) => {
  const node = await shared.tenant(t);
  const talk = await startConversations(node, 'sim.lorem-100-1000');
  const { json } = await talk.post('/api/sessions', { agent_id: talk.agentId });
  const sessionId = String(json.data.session_id);
  let begun = 0;
  const onEvent = ({ type }: { type: string }): void => {
    if (type === 'metadata') begun += 1;
  };
  const turns = Array.from({ length: 33 }, (_, index) =>
    talk.say({ message: `turn ${index}`, session_id: sessionId }, { onEvent }),
  );
  await eventually(() => begun === 33);
  const refused = await t.throwsAsync(talk.say({ message: 'one more', session_id: sessionId }), {
    instanceOf: RefusedTurn,
  });
  t.is(refused?.status, 429);
  t.like(JSON.parse(refused?.body ?? ''), {
    error: 'rate_limit_exceeded',
    details: { limit: 32, remaining: 0, retry_after: 5 },
  });
  t.is(refused?.headers.get('retry-after'), '5');
  const cancelled = new Set<string>();
  while (cancelled.size < 33) {
    const answer = await talk.post(`/api/v1/sessions/${sessionId}/cancel`);
    if (answer.json.data.cancelled === true) cancelled.add(answer.json.data.execution_id);
    // None runs between two turns, and each look counts in the window of the key.
    else await delay(20);
  }
  for (const { outcomes } of await Promise.all(turns)) t.deepEqual(outcomes, ['CANCELLED']);
});

test('cancelling ends a running turn, keeps its partial text, and answers with the execution', async (t) => {
  const node = await shared.tenant(t);
  const talk = await startConversations(node, 'sim.lorem-5000-50');
  let sessionId = '';
  let deltas = 0;
  const turn = talk.say('words', {
    onEvent: ({ type, data }) => {
      if (type === 'metadata') sessionId = String(data['session_id']);
      if (type === 'delta') deltas += 1;
    },
  });
  await eventually(() => deltas >= 3);
  const { status, json } = await talk.post(`/api/v1/sessions/${sessionId}/cancel`);
  t.is(status, 200);
  t.true(json.data.cancelled);
  const ended = await turn;
  t.is(json.data.execution_id, ended.executionId);
  t.deepEqual(ended.outcomes, ['CANCELLED']);
  t.true(ended.text.length > 0);
  const said = await talk.get(`/api/v1/sessions/${sessionId}/messages`);
  t.is(said.data[1].content, ended.response);
  t.true(said.data[1].metadata.partial);
  const execution = await talk.get(`/api/v1/executions/${ended.executionId}`);
  t.is(execution.data.status, 'cancelled');
  const again = await talk.post(`/api/v1/sessions/${sessionId}/cancel`);
  t.deepEqual(again.json.data, { cancelled: false });
});

test('cancelling a queued turn ends it at once while the running one continues', async (t) => {
  const node = await shared.tenant(t);
  const talk = await startConversations(node, 'sim.lorem-5000-50');
  let sessionId = '';
  const running = talk.say('words', {
    onEvent: ({ type, data }) => {
      if (type === 'metadata') sessionId = String(data['session_id']);
    },
  });
  await eventually(() => sessionId !== '');
  let waitingId = '';
  const waiting = talk.say(
    { message: 'more words', session_id: sessionId },
    {
      onEvent: ({ type, data }) => {
        if (type === 'metadata') waitingId = String(data['execution_id']);
      },
    },
  );
  await eventually(() => waitingId !== '');
  const cancel = (execution_id: string) =>
    talk.post(`/api/v1/sessions/${sessionId}/cancel`, { execution_id });
  t.deepEqual((await cancel(waitingId)).json.data, { cancelled: true, execution_id: waitingId });
  const ended = await waiting;
  t.deepEqual(typesOf(ended), ['metadata', 'status', 'metrics', 'done']);
  t.deepEqual(ended.outcomes, ['CANCELLED']);
  t.deepEqual((await cancel(waitingId)).json.data, { cancelled: false });
  const of = async (id: string) => (await talk.get(`/api/v1/executions/${id}`)).data;
  t.like(await of(waitingId), { status: 'cancelled', outcome: 'CANCELLED' });
  const { data } = await talk.get(`/api/v1/executions?session_id=${sessionId}&status=running`);
  t.is(data.length, 1, 'the turn before it still runs');
  await cancel(data[0].id);
  t.deepEqual((await running).outcomes, ['CANCELLED']);
  const said = await talk.get(`/api/v1/sessions/${sessionId}/messages`);
  t.false(JSON.stringify(said).includes('more words'), 'what never ran is no part of the conversation');
});

test('a leaving client does not end its turn unless its address says so', async (t) => {
  const node = await shared.tenant(t);
  const talk = await startConversations(node, 'sim.lorem-30-20');
  const leave = async (query: string): Promise<string> => {
    const abort = new AbortController();
    const response = await fetch(`${node.client.baseUrl}/api/v2/agents/${talk.agentId}/stream${query}`, {
      method: 'POST',
      headers: { 'x-api-key': node.bootstrap.api_key, 'content-type': 'application/json' },
      body: JSON.stringify({ message: 'words' }),
      signal: abort.signal,
    });
    const id = response.headers.get('x-execution-id') ?? '';
    abort.abort();
    return id;
  };
  const statusOf = async (id: string): Promise<string> =>
    String((await talk.get(`/api/v1/executions/${id}`)).data.status);
  const ended = async (id: string): Promise<string> => {
    await eventually(async () => !['queued', 'running'].includes(await statusOf(id)));
    return statusOf(id);
  };
  t.is(await ended(await leave('')), 'completed');
  t.is(await ended(await leave('?cancel_on_disconnect=true')), 'cancelled');
});

test('a connection that the node closes does not end its turn, whatever its address says', async (t) => {
  const node = await shared.tenant(t);
  const { client, bootstrap } = node;
  const talk = await startConversations(node, 'sim.lorem-150-20');
  const user = { token: bootstrap.access_token, tenant: bootstrap.tenant_id };
  const key = await client.call('POST', '/api/keys', {
    ...user,
    body: { name: 'streams', role: 'admin', rateLimitPerMinute: 100 },
  });
  t.is(key.status, 201, key.text);
  const address = `${client.baseUrl}/api/v2/agents/${talk.agentId}/stream?cancel_on_disconnect=true`;
  const response = await fetch(address, {
    method: 'POST',
    headers: { 'x-api-key': key.json.data.api_key, 'content-type': 'application/json' },
    body: JSON.stringify({ message: 'words' }),
  });
  const id = response.headers.get('x-execution-id') ?? '';
  const revoked = await client.call('DELETE', `/api/keys/${key.json.data.id}`, user);
  t.is(revoked.status, 200, revoked.text);
  await t.throwsAsync(response.text(), undefined, 'the stream ended with its key, without its end');
  const { data } = await talk.get(`/api/v1/executions/${id}`);
  t.is(data.status, 'running');
  const ended = await eventually(async () => {
    const { data: now } = await talk.get(`/api/v1/executions/${id}`);
    return now.status === 'running' ? undefined : now.status;
  });
  t.is(ended, 'completed');
});

test('a shorter deadline from the caller ends the turn', async (t) => {
  const node = await shared.tenant(t);
  const talk = await startConversations(node, 'sim.lorem-200-50');
  const turn = await talk.say({ message: 'words', options: { timeout_ms: 1_000 } });
  t.deepEqual(turn.outcomes, ['TIMEOUT']);
  const done = eventOf(turn, 'done');
  t.true(done?.['timed_out']);
  t.is(done?.['timeout_clock'], 'turn');
  const { data } = await talk.get(`/api/v1/executions/${turn.executionId}`);
  t.is(data.status, 'timeout');
  t.true(data.timed_out);
  t.is(data.timeout_clock, 'turn');
});

test("a requested deadline that is later than the platform's is listed as ignored", async (t) => {
  const node = await shared.tenant(t);
  const talk = await startConversations(node);
  const fieldsWith = async (timeout_ms: number) => {
    const turn = await talk.say({ message: 'words', options: { timeout_ms } });
    const metadata = eventOf(turn, 'metadata');
    return { accepted: metadata?.['accepted_fields'], ignored: metadata?.['ignored_fields'] };
  };
  t.deepEqual(await fieldsWith(150_000), { accepted: ['message', 'options.timeout_ms'], ignored: [] });
  t.deepEqual(await fieldsWith(150_001), {
    accepted: ['message'],
    ignored: [{ field: 'options.timeout_ms', reason: 'not_supported' }],
  });
});

test('a refusal before a turn starts is an answer, not an event', async (t) => {
  const node = await shared.tenant(t);
  const talk = await startConversations(node);
  const other = await talk.agent('sim.echo');
  const refused = async (body: object, options: object = {}): Promise<[number, string]> => {
    const error = await t.throwsAsync(talk.say(body, options), { instanceOf: RefusedTurn });
    return [error?.status ?? 0, String(JSON.parse(error?.body ?? '{}').error)];
  };
  t.deepEqual(await refused({}), [400, 'VALIDATION_ERROR']);
  t.deepEqual(await refused({ message: 'x', session_id: crypto.randomUUID() }), [404, 'not_found']);
  t.deepEqual(await refused({ message: 'x' }, { agentId: crypto.randomUUID() }), [404, 'agent_not_found']);
  const { sessionId } = await talk.say({ message: 'x', consumer_key: 'ada' });
  t.deepEqual(await refused({ message: 'x', session_id: sessionId }, { agentId: other }), [409, 'CONFLICT']);
  t.deepEqual(await refused({ message: 'x', session_id: sessionId, consumer_key: 'bob' }), [409, 'CONFLICT']);
  t.deepEqual(
    await refused({ message: 'x', session_id: sessionId, session_from: ['a'], context: { a: 1 } }),
    [400, 'VALIDATION_ERROR'],
  );
});

test("an agent's own limit counts its turns over a minute", async (t) => {
  // Of its own: its clock is set forward.
  const node = await startTestNode(t);
  const talk = await startConversations(node);
  const user = { token: node.bootstrap.access_token, tenant: node.bootstrap.tenant_id };
  await node.client.call('POST', `/api/agents/${talk.agentId}/publish`, {
    ...user,
    body: { config: { rate_limit: 2 } },
  });
  await talk.say('one');
  await talk.say('two');
  const path = `/api/v2/agents/${talk.agentId}/stream`;
  const { api_key: key } = node.bootstrap;
  const refused = await node.client.call('POST', path, { key, body: { message: 'three' } });
  t.is(refused.status, 429);
  const { limit, remaining, reset, retry_after } = refused.json.details;
  t.deepEqual([limit, remaining], [2, 0]);
  t.is(refused.headers.get('retry-after'), String(retry_after));
  t.is(refused.headers.get('x-ratelimit-limit'), '2', 'the figures of the window that refused');
  t.is(refused.headers.get('x-ratelimit-reset'), String(reset));
  node.passMs(61_000);
  await talk.say('four');
});
