// Sessions with MCP servers between calls: kept, kept apart, given back.
import type { ServerResponse } from 'node:http';
import test, { type ExecutionContext } from 'ava';
import { systemTime, type Time } from '../../../cluster/index.js';
import { type SchemaToolCall, ToolError } from '../../../src/agents/index.js';
import { SchemaTools } from '../../../src/agents/tools/schema-tools.js';
import { tenantScope } from '../../../src/kernel/tenant-scope.js';
import { createEgress, type Egress } from '../../../src/infra/egress/index.js';
import { createExpressions } from '../../../src/infra/expressions/index.js';
import { eventually } from '../../support/clocks/eventually.js';
import { startSandbox } from '../../support/servers/sandbox.js';
import { startSessionServer } from '../../support/servers/session-server.js';
import { answerJson, startToolServer } from '../../support/servers/tool-servers.js';
import { agentOf } from '../../support/builders/turns.js';

const nothingStored = {
  find: () => Promise.resolve(undefined),
  resolve: () => Promise.reject(new Error('no tool here names a secret')),
};

interface Caller {
  call(tool?: string, more?: Partial<SchemaToolCall>): Promise<string>;
  readonly tools: SchemaTools;
}

function callerOf(
  t: ExecutionContext,
  url: string,
  { time = systemTime, egress }: { readonly time?: Time; readonly egress?: Egress } = {},
): Caller {
  const way = egress ?? createEgress({ allow: ['127.0.0.1/32'] });
  const tools = new SchemaTools({
    vault: nothingStored,
    egress: way,
    expressions: createExpressions(startSandbox(t)),
    time,
  });
  t.teardown(async () => {
    await tools.stop();
    await way.close();
  });
  const [schema] = agentOf({
    schemas: [{ name: 'server', type: 'mcp', editor_schema: { mcp: { url, call_timeout_ms: 120_000 } } }],
  }).snapshot.schemas;
  if (schema === undefined) throw new Error('the agent has no schema');
  return {
    tools,
    async call(tool = 'echo', more = {}) {
      const answer = await tools.call({
        scope: tenantScope('00000000-0000-4000-8000-000000000001'),
        schema,
        approved: null,
        tool,
        args: { text: 'hi' },
        context: {},
        strict: false,
        signal: new AbortController().signal,
        ...more,
      });
      return answer.text;
    },
  };
}

/** Timers that the test sets off. */
function heldTimers(): { readonly time: Time; fire(ms: number): void } {
  const timers = new Set<{ readonly ms: number; readonly action: () => void }>();
  return {
    time: {
      ...systemTime,
      after(ms, action) {
        const timer = { ms, action };
        timers.add(timer);
        return { cancel: () => void timers.delete(timer) };
      },
    },
    fire(ms) {
      for (const timer of timers) {
        if (timer.ms !== ms) continue;
        timers.delete(timer);
        timer.action();
      }
    },
  };
}

test('successive calls use the session of the first', async (t) => {
  const server = await startSessionServer(t);
  const { call } = callerOf(t, server.url);
  for (let number = 0; number < 3; number += 1) t.is(await call(), '{"text":"hi"}');
  t.is(server.opened.length, 1);
  t.deepEqual(server.called, [server.opened[0], server.opened[0], server.opened[0]]);
  t.deepEqual(server.ended, []);
});

test('concurrent calls have a session each, and at most eight are kept', async (t) => {
  const server = await startSessionServer(t);
  const { call } = callerOf(t, server.url);
  await Promise.all(Array.from({ length: 12 }, () => call()));
  t.is(new Set(server.called).size, 12);
  await eventually(() => server.ended.length === 4);
  await Promise.all(Array.from({ length: 8 }, () => call()));
  t.is(server.opened.length, 12);
});

test('another tenant never uses the session of the first', async (t) => {
  const server = await startSessionServer(t);
  const { call } = callerOf(t, server.url);
  await call();
  await call('echo', { scope: tenantScope('00000000-0000-4000-8000-000000000002') });
  t.is(new Set(server.called).size, 2);
});

test('a server that forgot the session gets a new one, and the call is made once', async (t) => {
  const server = await startSessionServer(t);
  const { call } = callerOf(t, server.url);
  await call();
  server.forget();
  t.is(await call(), '{"text":"hi"}');
  t.deepEqual(server.called, [...server.opened]);
  t.is(server.opened.length, 2);
});

test('a session idle for a minute is ended, and all are when the node stops', async (t) => {
  const server = await startSessionServer(t);
  const timers = heldTimers();
  const { call, tools } = callerOf(t, server.url, { time: timers.time });
  await call();
  timers.fire(60_000);
  await eventually(() => server.ended.length === 1);
  await call();
  t.is(server.opened.length, 2);
  await tools.stop();
  t.deepEqual(server.ended, [...server.opened]);
});

test('an answer that is there when the time of its call has passed is taken', async (t) => {
  const server = await startSessionServer(t);
  const { time, fire } = heldTimers();
  const egress = createEgress({ allow: ['127.0.0.1/32'] });
  let answered = 0;
  const fetchLike: Egress['fetchLike'] = (limits) => async (url, init) => {
    const answer = await egress.fetchLike(limits)(url, init);
    if (typeof init?.body !== 'string' || !init.body.includes('tools/call')) return answer;
    const { status, headers } = answer;
    const text = await answer.text();
    answered += 1;
    fire(120_000);
    return new Response(text, { status, headers });
  };
  const caller = callerOf(t, server.url, { time, egress: { ...egress, fetchLike } });
  t.deepEqual([await caller.call(), answered], ['{"text":"hi"}', 1]);
});

test('an interrupted call ends its session, and no other call continues in it', async (t) => {
  const server = await startSessionServer(t);
  const { call } = callerOf(t, server.url);
  const leaving = new AbortController();
  const hanging = call('hang', { signal: leaving.signal });
  await eventually(() => server.called.length === 1);
  leaving.abort();
  await t.throwsAsync(hanging, { instanceOf: ToolError });
  await eventually(() => server.ended.length === 1);
  await call();
  t.is(server.opened.length, 2);
  t.is(server.called[1], server.opened[1]);
});

test('a name that now resolves to a forbidden address is not connected to although its session was kept', async (t) => {
  const server = await startSessionServer(t);
  let address = '127.0.0.1';
  const egress = createEgress({ allow: ['127.0.0.1/32'], lookup: () => Promise.resolve([address]) });
  const { call } = callerOf(t, server.url.replace('127.0.0.1', 'innocent.example.com'), { egress });
  await call();
  address = '127.0.0.2';
  const error = await t.throwsAsync(call(), { instanceOf: ToolError });
  t.is(error?.failure, 'forbidden-address');
  t.is(server.called.length, 1);
});

/** The answer of a server that knows only the handshake and its tools to any other request. */
const plainEnds = {
  'accepts it and says nothing': (response: ServerResponse) => response.writeHead(202).end(),
  'ends without a word': (response: ServerResponse) => response.writeHead(200).end(),
  'falls over it': (response: ServerResponse) => response.writeHead(500).end('TypeError'),
};
for (const [what, end] of Object.entries(plainEnds)) {
  test(`a server of an earlier revision is used although it ${what} when greeted with the current one`, async (t) => {
    const { url } = await startToolServer(t, ({ body }, response) => {
      const { id, method, params } = JSON.parse(body === '' ? '{}' : body) as PlainRequest;
      const serverInfo = { name: 'plain', version: '1' };
      const results: Readonly<Record<string, object>> = {
        initialize: { protocolVersion: params?.protocolVersion, capabilities: { tools: {} }, serverInfo },
        'tools/call': { content: [{ type: 'text', text: 'found' }] },
      };
      const result = results[method ?? ''];
      if (result === undefined && id === undefined) response.writeHead(202).end();
      else if (result === undefined) end(response);
      else answerJson(response, { jsonrpc: '2.0', id, result });
    });
    t.is(await callerOf(t, `${url}/mcp`).call(), 'found');
  });
}

interface PlainRequest {
  readonly id?: number;
  readonly method?: string;
  readonly params?: { readonly protocolVersion?: string };
}
