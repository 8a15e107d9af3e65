// Traces, metrics and logs as an operator's OTLP receiver gets them. The SDK belongs to the process, and the variables to
// the start of a node: each test starts one of its own.
import test, { type ExecutionContext } from 'ava';
import { openAiAt, startVendor } from '../support/clients/direct-calls.js';
import { httpTool, publishAgent } from '../support/builders/published-agents.js';
import { createTrigger, executionsOf, sendSigned } from '../support/builders/triggers.js';
import { eventually } from '../support/clocks/eventually.js';
import { ownerView } from '../support/database/owner-view.js';
import { calling, saying } from '../support/builders/tool-turns.js';
import { startTestNode, type TestNode } from '../support/servers/node.js';
import { OtlpReceiver, type SeenSpan } from '../support/servers/otlp-receiver.js';
import { answerJson, startToolServer } from '../support/servers/tool-servers.js';
import { OpenAiServer } from '../support/servers/vendors/openai-server.js';

const model = 'openai.gpt-4.1-mini';
const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const traceparent = `00-${traceId}-00f067aa0ba902b7-01`;
const planted = [
  'planted-question',
  'planted-answer',
  'planted-argument',
  'planted-result',
  'planted-header',
];

/** A node whose agent has a tool, and one turn of it. */
async function oneTurn(
  t: ExecutionContext,
  environment: Readonly<Record<string, string>>,
): Promise<{ readonly node: TestNode; readonly session: string; readonly agent: string }> {
  const server = await startVendor(t, new OpenAiServer());
  const node = await startTestNode(t, { environment: { ...openAiAt(server), ...environment } });
  const tools = await startToolServer(t, (_, response) =>
    answerJson(response, { balance: 'planted-result' }),
  );
  const agent = await publishAgent(node.client, node.bootstrap, {
    model,
    schemas: [httpTool('balance', `${tools.url}/balance`)],
  });
  server.script(calling(['balance', { of: 'planted-argument' }]), saying('planted-', 'answer'));
  const { text } = await node.client.call('POST', `/api/v2/agents/${agent}/stream`, {
    key: node.bootstrap.api_key,
    headers: { traceparent },
    body: { message: 'planted-question' },
  });
  t.regex(text, /"outcome":"COMPLETED"/);
  return { node, agent, session: /"session_id":"([^"]+)"/.exec(text)?.[1] ?? '' };
}

function only(spans: readonly SeenSpan[], name: RegExp): SeenSpan {
  const found = spans.filter((span) => name.test(span.name) && span.traceId === traceId);
  const [first] = found;
  if (first === undefined) throw new Error(`no span ${name} in ${spans.map((span) => span.name).join(', ')}`);
  return first;
}

test.serial(
  'a turn is a trace by the conventions for generative AI, with logs and metrics beside it',
  async (t) => {
    const receiver = await OtlpReceiver.start(t);
    const { node, session, agent } = await oneTurn(t, {
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20planted-header',
      OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
      OTEL_SERVICE_NAME: 'agents',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
    });
    // What is queued is sent at the stop.
    await node.stop();

    const { spans } = receiver;
    const request = only(spans, /^agents\.stream$/);
    t.is(request.parentSpanId, '00f067aa0ba902b7');
    const turn = only(spans, /^invoke_agent agent-/);
    t.is(turn.parentSpanId, request.spanId);
    t.like(turn.attributes, {
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.id': agent,
      'gen_ai.conversation.id': session,
      'gen_ai.provider.name': 'openai',
      'gen_ai.request.model': model,
      'troupe.outcome': 'COMPLETED',
    });
    const chats = spans.filter(({ name }) => name === 'chat gpt-4.1-mini');
    t.is(chats.length, 2);
    for (const chat of chats) {
      t.is(chat.parentSpanId, turn.spanId);
      t.is(chat.kind, 3, 'a client');
      t.like(chat.attributes, {
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': 'openai',
        'gen_ai.request.model': 'gpt-4.1-mini',
        'gen_ai.conversation.id': session,
        'troupe.payer': 'platform',
      });
      t.true(Number(chat.attributes['gen_ai.usage.input_tokens']) > 0);
      t.true(Number(chat.attributes['gen_ai.usage.output_tokens']) > 0);
      t.is(typeof chat.attributes['gen_ai.response.model'], 'string');
      t.true(Array.isArray(chat.attributes['gen_ai.response.finish_reasons']));
    }
    const sum = (name: string): number =>
      chats.reduce((all, { attributes }) => all + Number(attributes[name]), 0);
    for (const name of ['gen_ai.usage.input_tokens', 'gen_ai.usage.output_tokens'])
      t.is(turn.attributes[name], sum(name), name);
    const tool = only(spans, /^execute_tool balance$/);
    t.is(tool.parentSpanId, turn.spanId);
    t.like(tool.attributes, { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'balance' });

    t.true(receiver.logs.some(({ body, traceId: of }) => body === 'request' && of === traceId));
    const turns = receiver.metrics.filter(({ name }) => name === 'troupe_turns_ended_total').at(-1);
    t.deepEqual(turns?.points, [{ attributes: { outcome: 'COMPLETED' }, value: 1 }]);
    t.is(turns?.kind, 'sum');
    const took = receiver.metrics.filter(({ name }) => name === 'troupe_turns_duration_seconds').at(-1);
    t.like(took, {
      kind: 'histogram',
      unit: 's',
      points: [{ attributes: { outcome: 'COMPLETED' }, value: 1 }],
    });

    const named = {
      'service.name': 'agents',
      'deployment.environment.name': 'test',
      'service.instance.id': 'test-node',
    };
    for (const resource of receiver.resources) t.like(resource, named);
    const paths = new Set(receiver.requests.map(({ path }) => path));
    t.deepEqual([...paths].toSorted(), ['/v1/logs', '/v1/metrics', '/v1/traces']);
    for (const { headers } of receiver.requests) {
      t.is(headers.authorization, 'Bearer planted-header');
      t.is(headers['content-type'], 'application/x-protobuf');
    }
    for (const text of planted) t.false(receiver.raw.includes(text), text);
    t.false(node.log().includes('planted-header'));
  },
);

test.serial('JSON to an address of its own, and only what is asked for', async (t) => {
  const receiver = await OtlpReceiver.start(t);
  const { node } = await oneTurn(t, {
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${receiver.url}/custom/traces`,
    OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/json',
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_METRICS_EXPORTER: 'prometheus',
    OTEL_LOGS_EXPORTER: 'none',
  });
  // A webhook is answered before its turn runs, in another request or none: its message carries the trace.
  const hook = await createTrigger(node, { execution: { mode: 'async' } });
  const hookTrace = 'a3ce929d0e0e47364bf92f3577b34da6';
  await sendSigned(node, hook, { message: 'hello' }, { traceparent: `00-${hookTrace}-00f067aa0ba902b7-01` });
  await eventually(async () => (await executionsOf(node, hook))[0]?.['status'] === 'completed');
  const owner = await ownerView(node.databaseUrl);
  const { rows } = await owner.query(
    `select input->>'traceparent' as given from executions order by created_at`,
  );
  await owner.end();
  await node.stop();
  const ofHook = receiver.spans.filter((span) => span.traceId === hookTrace);
  const names = ofHook.map(({ name }) => name.split(' ')[0] ?? '').toSorted();
  t.deepEqual(names, ['chat', 'invoke_agent', 'triggers.webhook']);
  // The row keeps it for whichever node goes on with the turn.
  const starts = (rows as { given: string }[]).map(({ given }) => given.slice(3, 35));
  t.deepEqual(starts, [traceId, hookTrace]);
  t.deepEqual([...new Set(receiver.requests.map(({ path }) => path))], ['/custom/traces']);
  t.is(receiver.requests[0]?.headers['content-type'], 'application/json');
  t.is(only(receiver.spans, /^execute_tool/).parentSpanId, only(receiver.spans, /^invoke_agent/).spanId);
});

for (const manner of ['refuse', 'silent'] as const) {
  test.serial(
    `a receiver that does not take anything (${manner}) harms no turn and holds no stop`,
    async (t) => {
      const receiver = await OtlpReceiver.start(t);
      receiver.manner = manner;
      const { node } = await oneTurn(t, {
        OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
        // Longer than any stop may take: an open request would hold the process.
        OTEL_EXPORTER_OTLP_TIMEOUT: manner === 'silent' ? '60000' : '500',
      });
      const began = performance.now();
      await node.stop();
      t.true(performance.now() - began < 30_000);
      await eventually(async () => (await receiver.connections()) === 0);
      t.true(receiver.requests.length > 0);
      const told = node
        .log()
        .split('\n')
        .filter((line) => line.includes('not taken by the OTLP receiver'));
      t.true(told.length <= 3, told.join('\n'));
    },
  );
}
