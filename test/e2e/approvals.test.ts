// Calls of tools that people decide on, from the model's call to the turn's end.
import test, { type ExecutionContext } from 'ava';
import { calling, lastResults, saying } from '../support/builders/tool-turns.js';
import { asOwner, createTrigger, sendSigned } from '../support/builders/triggers.js';
import { makeTenant } from '../support/builders/tenants.js';
import { httpTool } from '../support/builders/published-agents.js';
import type { CallResult } from '../support/clients/client.js';
import { openAiAt, sharedNodeWithOpenAi } from '../support/clients/direct-calls.js';
import { eventually } from '../support/clocks/eventually.js';
import { ownerView, tenantView } from '../support/database/owner-view.js';
import { eventOf } from '../support/servers/conversations.js';
import { startTestNode, type TenantNode } from '../support/servers/node.js';
import { answerJson, startToolServer } from '../support/servers/tool-servers.js';
import {
  type ApprovalBench,
  decide,
  paid,
  payingModel,
  payTool,
  startApprovals,
  startWaiting,
} from '../support/servers/waiting-turns.js';
import { OpenAiServer } from '../support/servers/vendors/openai-server.js';

const model = payingModel;
const openai = new OpenAiServer();
const shared = sharedNodeWithOpenAi(test, openai);

async function startBench(t: ExecutionContext, node?: TenantNode): Promise<ApprovalBench> {
  return startApprovals(t, node ?? (await shared.tenant(t)));
}

test.serial('an approved call is made once, and the stream goes on to the end', async (t) => {
  const bench = await startBench(t);
  const { talk, node } = bench;
  openai.script({ ...calling(['pay', { amount: 5, to: 'Ada' }]), pieces: ['One moment.'] }, saying('Paid.'));
  const waiting = await startWaiting(bench, bench.agentId);
  t.is((await talk.get(`/api/v1/sessions/${waiting.sessionId}`)).data.state, 'awaiting_approval');
  t.is((await talk.get(`/api/v1/executions/${waiting.executionId}`)).data.status, 'waiting');
  t.is((await talk.get('/api/v1/executions?status=waiting')).count, 1);
  const pending = await talk.get('/api/v1/approvals?status=pending');
  t.is(pending.count, 1);
  t.like(pending.data[0], {
    id: waiting.approvalId,
    tool: 'pay',
    arguments: { amount: 5, to: 'Ada' },
    session_id: waiting.sessionId,
    execution_id: waiting.executionId,
    status: 'pending',
  });
  const days = (Date.parse(pending.data[0].expires_at) - Date.now()) / 86_400_000;
  t.true(days > 6.9 && days <= 7);
  t.deepEqual(paid(bench), []);
  const answers = await Promise.all([
    decide(bench, waiting.approvalId, { decision: 'approve' }),
    decide(bench, waiting.approvalId, { decision: 'deny' }),
    decide(bench, waiting.approvalId, { decision: 'approve' }),
  ]);
  const statuses = answers.map(({ status }) => status).toSorted((one, other) => one - other);
  t.deepEqual(statuses, [200, 409, 409]);
  const isApproved = answers.find(({ status }) => status === 200)?.json.data.status === 'approved';
  t.is(answers.find(({ status }) => status === 409)?.json.error, 'conflict');
  const turn = await waiting.turn;
  t.deepEqual(turn.outcomes, ['COMPLETED']);
  t.is(turn.cuts, 0);
  t.deepEqual(eventOf(turn, 'approval'), {
    type: 'approval',
    approval_id: waiting.approvalId,
    tool: 'pay',
    arguments: { amount: 5, to: 'Ada' },
  });
  t.is(turn.response, 'One moment.\n\nPaid.');
  t.is(turn.text, turn.response ?? 'none');
  t.deepEqual(paid(bench), isApproved ? [{ amount: 5, to: 'Ada' }] : []);
  t.is((await talk.get(`/api/v1/sessions/${waiting.sessionId}`)).data.state, 'active');
  t.is((await talk.get('/api/v1/approvals?status=pending')).count, 0);
  t.is((await decide(bench, waiting.approvalId, { decision: 'deny' })).status, 409);
  const entries = await asOwner(node, 'GET', `/api/v1/audit?action=approvals.decide`);
  t.is(entries.json.data.filter(({ outcome }: { outcome: string }) => outcome === 'done').length, 1);
  t.is(entries.json.data[0].target.id, waiting.approvalId);
  t.false(JSON.stringify(entries.json).includes('Ada'));
  const events = await tenantView(node);
  const { rows } = await events.query<{ type: string; data: Record<string, unknown> }>(
    `select type, data from realtime_events where type like 'approval%' order by number`,
  );
  await events.end();
  t.deepEqual(
    rows.map(({ type, data }) => [type, data['approval_id']]),
    [
      ['approval_requested', waiting.approvalId],
      ['approval_decided', waiting.approvalId],
    ],
  );
});

test.serial('a denied call is not made, and the model is told why', async (t) => {
  const bench = await startBench(t);
  openai.script(calling(['pay', { amount: 5 }]), saying('I may not.'));
  const waiting = await startWaiting(bench, bench.agentId);
  const denied = await decide(bench, waiting.approvalId, { decision: 'deny', reason: 'too much' });
  t.is(denied.status, 200);
  t.like(denied.json.data, { status: 'denied', reason: 'too much' });
  t.is((await waiting.turn).response, 'I may not.');
  t.deepEqual(paid(bench), []);
  t.regex(lastResults(openai)[0] ?? '', /denied this call.*too much/);
});

test.serial('edited arguments fit the schema of the tool, and replace those of the model', async (t) => {
  const bench = await startBench(t);
  openai.script(calling(['pay', { amount: 50 }]), saying('Paid.'));
  const waiting = await startWaiting(bench, bench.agentId);
  const wrong: readonly (readonly [object, string])[] = [
    [{ amount: 'much' }, 'arguments.amount'],
    [{ amount: 101 }, 'arguments.amount'],
    [{ to: 'Ada' }, 'arguments.amount'],
  ];
  for (const [args, field] of wrong) {
    const refused = await decide(bench, waiting.approvalId, { decision: 'approve', arguments: args });
    t.is(refused.status, 400, JSON.stringify(refused.json));
    t.is(refused.json.details.field, field);
  }
  const body = { decision: 'deny', arguments: { amount: 1 } };
  t.is((await decide(bench, waiting.approvalId, body)).status, 400);
  t.is((await decide(bench, waiting.approvalId, { decision: 'perhaps' })).status, 400);
  const approved = await decide(bench, waiting.approvalId, { decision: 'approve', arguments: { amount: 7 } });
  t.is(approved.status, 200, JSON.stringify(approved.json));
  t.deepEqual(approved.json.data.arguments, { amount: 7 });
  t.deepEqual((await waiting.turn).outcomes, ['COMPLETED']);
  t.deepEqual(paid(bench), [{ amount: 7 }]);
  t.regex(lastResults(openai)[0] ?? '', /changed the arguments.*"amount":7/);
});

test.serial('all calls of a round are decided before it is made, and several rounds may wait', async (t) => {
  const bench = await startBench(t);
  openai.script(
    calling(['pay', { amount: 1 }], ['pay', { amount: 2 }]),
    calling(['pay', { amount: 3 }]),
    calling(['pay', { amount: 4 }]),
    calling(['pay', { amount: 5 }]),
    saying('Paid.'),
  );
  const waiting = await startWaiting(bench, bench.agentId);
  const pending = async () => (await bench.talk.get('/api/v1/approvals?status=pending')).data;
  const [second, first] = await pending();
  t.is((await decide(bench, first.id, { decision: 'approve' })).status, 200);
  t.deepEqual(paid(bench), []);
  t.is((await bench.talk.get(`/api/v1/executions/${waiting.executionId}`)).data.status, 'waiting');
  t.is((await decide(bench, second.id, { decision: 'deny' })).status, 200);
  // More rounds than processes may end during a turn.
  for (const amount of [3, 4, 5]) {
    const next = await eventually(async () =>
      (await pending()).find((one: { arguments: { amount: number } }) => one.arguments.amount === amount),
    );
    t.is((await decide(bench, next.id, { decision: 'approve' })).status, 200);
  }
  t.deepEqual((await waiting.turn).outcomes, ['COMPLETED']);
  t.is(paid(bench).length, 4);
});

test.serial('a call whose arguments hold what no row can hold waits without it', async (t) => {
  const bench = await startBench(t);
  openai.script(calling(['pay', { amount: 5, to: 'A\0da\ud83d' }]), saying('Paid.'));
  const waiting = await startWaiting(bench, bench.agentId);
  t.is((await bench.talk.get('/api/v1/approvals?status=pending')).data[0].arguments.to, 'Ada\uFFFD');
  await Promise.all([decide(bench, waiting.approvalId, { decision: 'approve' }), waiting.turn]);
  t.deepEqual(paid(bench), [{ amount: 5, to: 'Ada\uFFFD' }]);
});

test.serial('a cancel voids the approval', async (t) => {
  const bench = await startBench(t);
  openai.script(calling(['pay', { amount: 5 }]));
  const waiting = await startWaiting(bench, bench.agentId);
  const cancelled = await bench.talk.post(`/api/v1/sessions/${waiting.sessionId}/cancel`, {});
  t.is(cancelled.json.data.execution_id, waiting.executionId);
  t.deepEqual((await waiting.turn).outcomes, ['CANCELLED']);
  t.true((await bench.talk.get(`/api/v1/executions/${waiting.executionId}`)).data.usage.total_tokens > 0);
  t.is((await bench.talk.get('/api/v1/approvals?status=voided')).count, 1);
  t.is((await decide(bench, waiting.approvalId, { decision: 'approve' })).status, 409);
  t.deepEqual(paid(bench), []);
  // The session goes on.
  openai.script(saying('Hello.'));
  const next = await bench.talk.say(
    { message: 'hello', session_id: waiting.sessionId },
    { agentId: bench.agentId },
  );
  t.is(next.response, 'Hello.');
});

test.serial('later messages of the session wait behind it', async (t) => {
  const bench = await startBench(t);
  openai.script(calling(['pay', { amount: 5 }]), saying('Paid.'), saying('And hello.'));
  const waiting = await startWaiting(bench, bench.agentId);
  const later = bench.talk.say(
    { message: 'hello', session_id: waiting.sessionId },
    { agentId: bench.agentId },
  );
  await eventually(async () => (await bench.talk.get('/api/v1/executions?status=queued')).count === 1);
  await decide(bench, waiting.approvalId, { decision: 'approve' });
  t.is((await waiting.turn).response, 'Paid.');
  t.is((await later).response, 'And hello.');
});

test.serial('tools of sub-agents wait too, and their earlier steps are not repeated', async (t) => {
  const bench = await startBench(t);
  const { talk, http } = bench;
  const look = httpTool('look', `${http.url}/look`) as { editor_schema: { api: object } };
  const looking = { ...look, editor_schema: { api: { ...look.editor_schema.api, method: 'POST' } } };
  const child = await talk.agent(model, {}, [payTool(http.url), looking]);
  const parent = await talk.agent(model, {}, [
    { name: 'cashier', type: 'agent', editor_schema: { agent: { agent_id: child } } },
  ]);
  openai.script(
    calling(['cashier', { message: 'pay 5' }]),
    calling(['look', {}]),
    calling(['pay', { amount: 5 }]),
    saying('The cashier paid.'),
    saying('Done.'),
  );
  const asked = openai.requests.length;
  const waiting = await startWaiting(bench, parent);
  const { data } = await talk.get('/api/v1/approvals?status=pending');
  t.like(data[0], { tool: 'pay', arguments: { amount: 5 }, execution_id: waiting.executionId });
  const detail = await talk.get(`/api/v1/executions/${waiting.executionId}`);
  t.false(JSON.stringify(detail).includes('parked'));
  t.is((await decide(bench, waiting.approvalId, { decision: 'approve' })).status, 200);
  const turn = await waiting.turn;
  t.is(turn.response, 'Done.');
  t.deepEqual(
    http.heard.map(({ path }) => path),
    ['/look', '/pay'],
  );
  t.is(openai.requests.length - asked, 5);
  t.deepEqual(lastResults(openai), ['The cashier paid.']);
});

test.serial('who may not control sessions decides nothing; unknown approvals are not found', async (t) => {
  const bench = await startBench(t);
  openai.script(calling(['pay', { amount: 5 }]), saying('Paid.'));
  const waiting = await startWaiting(bench, bench.agentId);
  const other = await makeTenant(bench.node);
  const path = `/api/v1/approvals/${waiting.approvalId}`;
  const as = (key: string): Promise<CallResult> =>
    bench.node.client.call('POST', path, { key, body: { decision: 'approve' } });
  t.is((await as(other.keys.member)).status, 403);
  t.is((await as(other.keys.admin)).status, 404);
  t.is((await decide(bench, waiting.sessionId, { decision: 'approve' })).status, 404);
  await decide(bench, waiting.approvalId, { decision: 'approve' });
  await waiting.turn;
});

test.serial('arguments are sealed, and go with the session', async (t) => {
  const bench = await startBench(t);
  openai.script(calling(['pay', { amount: 5, to: 'Zebulon' }]));
  const waiting = await startWaiting(bench, bench.agentId);
  const rows = await ownerView(bench.node.databaseUrl);
  const text = await rows.query<{ row: string }>('select a::text as row from approvals a where id = $1', [
    waiting.approvalId,
  ]);
  t.is(text.rows.length, 1);
  t.false(text.rows[0]?.row.includes('Zebulon'));
  const { status } = await bench.node.client.call('DELETE', `/api/v1/sessions/${waiting.sessionId}`, {
    key: bench.node.bootstrap.api_key,
  });
  t.is(status, 200);
  t.deepEqual((await waiting.turn).outcomes, ['CANCELLED']);
  const left = await rows.query('select from approvals where id = $1', [waiting.approvalId]);
  await rows.end();
  t.is(left.rows.length, 0);
  t.is((await decide(bench, waiting.approvalId, { decision: 'approve' })).status, 404);
});

test.serial(
  'the callbacks of a waiting turn and of the message behind it go out once they ended',
  async (t) => {
    const bench = await startBench(t);
    const receiver = await startToolServer(t, (_, response) => answerJson(response, {}));
    const node: TenantNode = {
      ...bench.node,
      bootstrap: { ...bench.node.bootstrap, agent_id: bench.agentId },
    };
    const trigger = await createTrigger(node, {
      session_strategy: { mode: 'derive', fields: ['person'] },
      execution: { mode: 'async', callback: { url: receiver.url, send_failures: true } },
    });
    openai.script(calling(['pay', { amount: 5 }]), saying('Paid.'), saying('And hello.'));
    const sent = await sendSigned(node, trigger, { message: 'pay it', person: 'Ada' });
    t.true(sent.status < 300, sent.text);
    const approval = await eventually(
      async () => (await bench.talk.get('/api/v1/approvals?status=pending')).data[0],
    );
    await sendSigned(node, trigger, { message: 'hello', person: 'Ada' });
    await eventually(async () => (await bench.talk.get('/api/v1/executions?status=queued')).count === 1);
    t.is(receiver.heard.length, 0);
    await decide(bench, approval.id, { decision: 'approve' });
    await eventually(() => receiver.heard.length > 1);
    t.regex(receiver.heard[0]?.body ?? '', /Paid\./);
    t.regex(receiver.heard[1]?.body ?? '', /And hello\./);
  },
);

test.serial('a turn that waits goes on after a restart, on the node that is there', async (t) => {
  const first = await startTestNode(t, { environment: openAiAt(openai) });
  const bench = await startBench(t, first);
  openai.script(calling(['pay', { amount: 5 }]), saying('Paid.'));
  const before = await startWaiting(bench, bench.agentId);
  await first.stop();
  const second = await startTestNode(t, {
    environment: openAiAt(openai),
    databaseUrl: first.databaseUrl,
    dataDir: first.dataDir,
  });
  const key = first.bootstrap.api_key;
  const resumed = second.client.call('GET', `/api/v1/executions/${before.executionId}/stream`, { key });
  await eventually(async () => {
    const { json } = await second.client.call('GET', `/api/v1/executions/${before.executionId}`, { key });
    return json.data.status === 'waiting';
  });
  const decided = await second.client.call('POST', `/api/v1/approvals/${before.approvalId}`, {
    key,
    body: { decision: 'approve' },
  });
  t.is(decided.status, 200, decided.text);
  const stream = await resumed;
  t.regex(stream.text, /event: approval\n/);
  t.regex(stream.text, /"outcome":"COMPLETED"/);
  t.deepEqual(paid(bench), [{ amount: 5 }]);
});

test.serial('a node that stops waits neither for a decision nor for a monitor', async (t) => {
  const { node, client, bootstrap, ...started } = await startTestNode(t, { environment: openAiAt(openai) });
  const bench = await startBench(t, { node, client, bootstrap, ...started });
  openai.script(calling(['pay', { amount: 5 }]), saying('Nobody answered.'));
  const { sessionId, executionId } = await startWaiting(bench, bench.agentId);
  const paths = [`/api/v1/sessions/${sessionId}/stream`, `/api/v1/executions/${executionId}/stream`];
  const streams = await Promise.all(
    paths.map((path) => fetch(`${node.baseUrl}${path}`, { headers: { 'x-api-key': bootstrap.api_key } })),
  );
  const read = Promise.all(streams.map((stream) => stream.text().catch((error: unknown) => String(error))));
  await node.stop(AbortSignal.timeout(30_000));
  for (const text of await read) {
    const last = text.trimEnd().split('\n\n').at(-1) ?? '';
    t.regex(last, /^id: \d+\nevent: error\ndata: .*"service_unavailable".*stopping/, text);
  }
});

test.serial('after seven days the call is denied, whoever has the session then', async (t) => {
  const first = await startTestNode(t, { environment: openAiAt(openai) });
  const bench = await startBench(t, first);
  openai.script(calling(['pay', { amount: 5 }]), saying('Nobody answered.'));
  const before = await startWaiting(bench, bench.agentId);
  await first.stop();
  const rows = await ownerView(first.databaseUrl);
  await rows.query(`update approvals set expires_at = now() - interval '1 second'`);
  await rows.query(`update executions set due_at = now() - interval '1 second' where status = 'waiting'`);
  await rows.end();
  const second = await startTestNode(t, {
    environment: openAiAt(openai),
    databaseUrl: first.databaseUrl,
    dataDir: first.dataDir,
  });
  const key = first.bootstrap.api_key;
  const ended = await eventually(async () => {
    const { json } = await second.client.call('GET', `/api/v1/executions/${before.executionId}`, { key });
    return json.data.outcome === null ? undefined : json.data;
  });
  t.like(ended, { outcome: 'COMPLETED', response: 'Nobody answered.' });
  const { json } = await second.client.call('GET', '/api/v1/approvals', { key });
  t.like(json.data[0], { status: 'denied', decided_by: 'system' });
  t.deepEqual(paid(bench), []);
});
