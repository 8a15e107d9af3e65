// Turns that wait for people and end without running again.
import test, { type ExecutionContext } from 'ava';
import { calling, saying } from '../support/builders/tool-turns.js';
import { openAiAt, sharedNodeWithOpenAi } from '../support/clients/direct-calls.js';
import { eventually } from '../support/clocks/eventually.js';
import { eventOf } from '../support/servers/conversations.js';
import { startTestNode } from '../support/servers/node.js';
import { OpenAiServer } from '../support/servers/vendors/openai-server.js';
import {
  type ApprovalBench,
  decide,
  paid,
  payingModel,
  payTool,
  startApprovals,
  startWaiting,
} from '../support/servers/waiting-turns.js';

const openai = new OpenAiServer();
const shared = sharedNodeWithOpenAi(test, openai);

async function startBench(t: ExecutionContext): Promise<ApprovalBench> {
  return startApprovals(t, await shared.tenant(t));
}

const paying = { ...calling(['pay', { amount: 5 }]), pieces: ['Let me pay that.'] };

/** The last message of the session, and what its turn used. */
async function leftOf(
  { talk }: ApprovalBench,
  ids: { readonly sessionId: string; readonly executionId: string },
) {
  const { data: messages } = await talk.get(`/api/v1/sessions/${ids.sessionId}/messages`);
  const { data: execution } = await talk.get(`/api/v1/executions/${ids.executionId}`);
  const { content, metadata } = messages.at(-1);
  return {
    content,
    partial: metadata.partial,
    outcome: execution.outcome,
    model: execution.model,
    hasUsage: execution.usage.total_tokens > 0,
  };
}

test.serial('a turn that is cancelled while it waits keeps what it said and used', async (t) => {
  const bench = await startBench(t);
  openai.script(paying);
  const waiting = await startWaiting(bench, bench.agentId);
  await bench.talk.post(`/api/v1/sessions/${waiting.sessionId}/cancel`, {});
  const turn = await waiting.turn;
  t.deepEqual(turn.outcomes, ['CANCELLED']);
  t.is(turn.text, 'Let me pay that.');
  t.is(turn.response, turn.text);
  t.like(eventOf(turn, 'metrics'), { tool_calls: 0 });
  t.deepEqual(await leftOf(bench, waiting), {
    content: 'Let me pay that.',
    partial: true,
    outcome: 'CANCELLED',
    model: payingModel,
    hasUsage: true,
  });
});

test.serial('so does one whose consumer is denied before the decision', async (t) => {
  const bench = await startBench(t);
  openai.script(paying);
  const waiting = await startWaiting(bench, bench.agentId, { message: 'pay it', consumer_key: 'mallory' });
  t.is((await bench.talk.post('/api/v1/consumers/mallory/deny', { reason: 'abuse' })).status, 200);
  t.is((await decide(bench, waiting.approvalId, { decision: 'approve' })).status, 200);
  t.deepEqual((await waiting.turn).outcomes, ['BLOCKED']);
  t.like(await leftOf(bench, waiting), { content: 'Let me pay that.', outcome: 'BLOCKED', hasUsage: true });
  t.deepEqual(paid(bench), []);
});

test.serial('so does one that another process took up, unless its answer must fit a schema', async (t) => {
  const first = await startTestNode(t, { environment: openAiAt(openai) });
  const bench = await startApprovals(t, first);
  const format = { type: 'json_schema', json_schema: { name: 'any', schema: { type: 'object' } } };
  const more = { llm_config: { model: payingModel, response_format: format } };
  const holding = await bench.talk.agent(payingModel, more, [payTool(bench.http.url)]);
  openai.script(paying, paying);
  const waiting = await startWaiting(bench, bench.agentId);
  const held = await startWaiting(bench, holding);
  await first.stop();
  const second = await startTestNode(t, {
    environment: openAiAt(openai),
    databaseUrl: first.databaseUrl,
    dataDir: first.dataDir,
  });
  const key = first.bootstrap.api_key;
  const call = async (method: string, path: string) =>
    (await second.client.call(method, path, { key, ...(method === 'POST' && { body: {} }) })).json;
  const talk = { ...bench.talk, get: (path: string) => call('GET', path) };
  for (const { sessionId } of [waiting, held]) {
    const { data } = await call('POST', `/api/v1/sessions/${sessionId}/cancel`);
    t.true(data.cancelled);
  }
  t.like(await leftOf({ ...bench, talk }, waiting), {
    content: 'Let me pay that.',
    partial: true,
    hasUsage: true,
  });
  t.like(await leftOf({ ...bench, talk }, held), { content: 'pay it', hasUsage: true });
});

/** A message behind the turn that waits; resolves with its execution. */
async function saidBehind({ talk, agentId }: ApprovalBench, sessionId: string) {
  let executionId: string | undefined;
  const turn = talk.say(
    { message: 'are you there?', session_id: sessionId },
    { agentId, onEvent: ({ data }) => void (executionId ??= String(data['execution_id'])) },
  );
  turn.catch(() => undefined);
  return { turn, executionId: await eventually(() => executionId) };
}

test.serial(
  'a handoff ends a turn that waits and voids its approval, and later messages are seen',
  async (t) => {
    const bench = await startBench(t);
    const { talk } = bench;
    openai.script(paying);
    const waiting = await startWaiting(bench, bench.agentId);
    const behind = await saidBehind(bench, waiting.sessionId);
    t.is((await talk.post(`/api/v1/sessions/${waiting.sessionId}/handoff`)).status, 200);
    t.is((await talk.get(`/api/v1/approvals?status=voided`)).count, 1);
    const approved = await decide(bench, waiting.approvalId, { decision: 'approve' });
    t.deepEqual([approved.status, approved.json.error], [409, 'conflict']);
    const turn = await waiting.turn;
    t.deepEqual(turn.outcomes, ['SUSPENDED']);
    t.is(turn.response, undefined, 'no text follows the handoff');
    t.deepEqual((await behind.turn).outcomes, ['SUSPENDED']);
    const { data: messages } = await talk.get(`/api/v1/sessions/${waiting.sessionId}/messages`);
    t.deepEqual(
      messages.map(({ content }: { content: string }) => content),
      ['pay it', 'Let me pay that.', 'are you there?'],
    );
    t.true((await talk.get(`/api/v1/executions/${waiting.executionId}`)).data.usage.total_tokens > 0);
    t.is((await talk.get(`/api/v1/sessions/${waiting.sessionId}`)).data.total_turns, 1);
    t.deepEqual(paid(bench), []);
    t.is((await talk.post(`/api/v1/sessions/${waiting.sessionId}/resume`)).status, 200);
    openai.script(saying('Here I am.'));
    const next = await talk.say(
      { message: 'hello', session_id: waiting.sessionId },
      { agentId: bench.agentId },
    );
    t.is(next.response, 'Here I am.');
  },
);

test.serial('a message behind a turn that waits runs at once when that is cancelled', async (t) => {
  const bench = await startBench(t);
  openai.script(paying, saying('Here I am.'));
  const waiting = await startWaiting(bench, bench.agentId);
  const behind = await saidBehind(bench, waiting.sessionId);
  await bench.talk.post(`/api/v1/sessions/${waiting.sessionId}/cancel`, {
    execution_id: waiting.executionId.toUpperCase(),
  });
  t.deepEqual((await waiting.turn).outcomes, ['CANCELLED']);
  await eventually(async () => {
    const { data } = await bench.talk.get(`/api/v1/executions/${behind.executionId}`);
    return data.status === 'completed';
  });
});
