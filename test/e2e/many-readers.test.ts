// Readers of a session stay for minutes. However many come, the session is controlled.

import test, { type ExecutionContext } from 'ava';
import { startConversations, typesOf } from '../support/servers/conversations.js';
import { eventually } from '../support/clocks/eventually.js';
import { sharedNode } from '../support/servers/shared-node.js';

const shared = sharedNode(test);

/** A session with a running turn and one that waits behind it, and the means to read its streams. */
async function busySession(t: ExecutionContext) {
  const node = await shared.tenant(t);
  const talk = await startConversations(node, 'sim.lorem-5000-50');
  const made = await talk.post('/api/sessions', { agent_id: talk.agentId });
  const sessionId = String(made.json.data.session_id);
  const begun: string[] = [];
  const say = async (message: string) => {
    const count = begun.length;
    const turn = talk.say(
      { message, session_id: sessionId },
      {
        onEvent: ({ type, data }) => {
          if (type === 'metadata') begun.push(String(data['execution_id']));
        },
      },
    );
    await eventually(() => begun.length > count, { what: `the turn of "${message}" has begun` });
    return { turn, executionId: begun[count] ?? '' };
  };
  const running = await say('words');
  const waiting = await say('more words');
  const leave = new AbortController();
  t.teardown(() => leave.abort());
  const open = (path: string, method = 'GET') =>
    fetch(`${node.client.baseUrl}/api/v1/${path}`, {
      method,
      headers: { 'x-api-key': node.bootstrap.api_key },
      signal: leave.signal,
    });
  return { talk, sessionId, running, waiting, open };
}

for (const { what, pathOf, max, limit } of [
  {
    what: 'a hundred readers of a turn',
    pathOf: (_sessionId: string, executionId: string) => `executions/${executionId}/stream`,
    max: 32,
    limit: /32 readers that joined its turns/,
  },
  {
    what: 'a hundred monitors',
    pathOf: (sessionId: string, _executionId: string) => `sessions/${sessionId}/stream`,
    max: 24,
    limit: /24 readers that watch it/,
  },
]) {
  test(`${what} keep out no cancel and no handoff, and those above the limit are refused`, async (t) => {
    const { talk, sessionId, running, waiting, open } = await busySession(t);
    const path = pathOf(sessionId, running.executionId);
    t.is((await open(path, 'HEAD')).status, 200, 'it takes no place');
    const answers = await Promise.all(Array.from({ length: 100 }, () => open(path)));
    const cancelled = await talk.post(`/api/v1/sessions/${sessionId}/cancel`, {
      execution_id: waiting.executionId,
    });
    t.deepEqual(cancelled.json.data, { cancelled: true, execution_id: waiting.executionId });
    const reading = answers.filter(({ status }) => status === 200);
    const refused = answers.filter(({ status }) => status !== 200);
    t.is(reading.length, max);
    for (const answer of refused) {
      t.is(answer.status, 429);
      t.is(answer.headers.get('retry-after'), '5');
      const body: unknown = await answer.json();
      t.like(body, { error: 'rate_limit_exceeded', details: { limit: max, remaining: 0, retry_after: 5 } });
      t.regex(JSON.stringify(body), limit);
    }
    const taken = await talk.post(`/api/v1/sessions/${sessionId}/handoff`);
    t.is(taken.status, 200);
    t.deepEqual((await running.turn).outcomes, ['SUSPENDED']);
    t.true(typesOf(await waiting.turn).includes('done'));
    if (max === 24) return;
    // Each of them was told of the handoff, and none was cut off.
    for (const text of await Promise.all(reading.map((answer) => answer.text()))) {
      t.regex(text, /event: done\ndata: .*SUSPENDED/);
      t.notRegex(text, /event: error/);
    }
  });
}

test('the place of a reader that has left is free again', async (t) => {
  const { talk, sessionId, running, open } = await busySession(t);
  const path = `executions/${running.executionId}/stream`;
  const answers = await Promise.all(Array.from({ length: 32 }, () => open(path)));
  t.true(answers.every(({ status }) => status === 200));
  t.is((await open(path)).status, 429);
  await answers[0]?.body?.cancel();
  await eventually(async () => (await open(path)).status === 200, { what: 'another reader is admitted' });
  // Its node need not wait for the turns when it stops.
  await talk.post(`/api/v1/sessions/${sessionId}/handoff`);
});
