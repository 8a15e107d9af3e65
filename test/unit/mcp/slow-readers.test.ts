// Clients that do not read their streamed answer: what waits for them is bounded, and they miss no last state.
import test, { type ExecutionContext } from 'ava';
import { agentTopic } from '../../../src/agents/index.js';
import { type OperationRequest, StreamReply, type StreamWriter } from '../../../src/http/operations/index.js';
import type { Change, ChangeSubscriber } from '../../../src/infra/storage/index.js';
import type { TenantCaller } from '../../../src/kernel/caller.js';
import { tooManyRequests } from '../../../src/kernel/errors.js';
import { tenantScope } from '../../../src/kernel/tenant-scope.js';
import { chatTool } from '../../../src/mcp/chat/chat-tool.js';
import { ChatRunner } from '../../../src/mcp/chat/run-chat.js';
import { mcpOperations } from '../../../src/mcp/endpoint.js';
import { RunningCalls } from '../../../src/mcp/running-calls.js';
import { TurnEnds } from '../../../src/mcp/turn-ends.js';
import { userOf } from '../../support/builders/callers.js';
import { eventually } from '../../support/clocks/eventually.js';
import { ManualTime } from '../../support/clocks/manual-time.js';

const scope = tenantScope('10000000-0000-4000-8000-000000000001');
const agents = [1, 2].map((number) => `20000000-0000-4000-8000-00000000000${number}`);
const [first = '', second = ''] = agents;
const revision = '2026-07-28';

const meta = {
  'io.modelcontextprotocol/protocolVersion': revision,
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

/** A client that takes the first bytes and then reads nothing until the test lets it. */
class HeldReader implements StreamWriter {
  readonly frames: string[] = [];
  readonly #left = new AbortController();
  #resume: () => void = () => undefined;
  #isReading = false;
  wasCut = false;

  get gone(): AbortSignal {
    return this.#left.signal;
  }

  write(chunk: string | Uint8Array): boolean {
    this.frames.push(typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString());
    return this.#isReading;
  }

  drained(): Promise<void> {
    return new Promise((resolve) => (this.#resume = resolve));
  }

  cut(): void {
    this.wasCut = true;
    this.leave();
  }

  read(): void {
    this.#isReading = true;
    this.#resume();
  }

  leave(): void {
    this.#left.abort();
    this.#resume();
  }

  /** What the client has heard, in order. */
  get messages(): readonly { method?: string; result?: unknown; params: { uri: string; message: string } }[] {
    return this.frames.flatMap((frame) => {
      const data = /^data: (.*)$/m.exec(frame)?.[1];
      return data === undefined ? [] : [JSON.parse(data)];
    });
  }
}

/** The endpoint of a node, whose changes and turns the test plays. */
function endpoint({ streamsMax = 10 } = {}) {
  const time = new ManualTime('2026-11-23T12:00:00Z');
  const subscribers = new Set<ChangeSubscriber>();
  const turn: { begun?: StreamWriter; end?: () => void; wasCancelled: boolean } = { wasCancelled: false };
  const open = { streams: 0 };
  const chats = {
    beginOnce: async () => ({
      sessionId: 's',
      executionId: 'e',
      enter: async () => ({
        sendTo: (writer: StreamWriter) => {
          turn.begun = writer;
          return new Promise((resolve) => {
            turn.end = () => resolve({ isDone: true });
            writer.gone.addEventListener('abort', () => resolve({ isDone: false }));
          });
        },
      }),
      cancel: async () => void (turn.wasCancelled = true),
    }),
  };
  const reports: unknown[] = [];
  const report = (_attempted: string, error: unknown): void => void reports.push(error);
  const admission = { admitModelWork: async () => ({}) };
  const server = {
    version: '1',
    catalogue: { named: () => ({ tool: chatTool, toolset: 'agents' }) },
    running: new RunningCalls(50),
    chats: new ChatRunner({ chats, admission, requests: {}, report } as never),
    cancellations: { take: async () => undefined },
    platformErrorOf: () => undefined,
    time,
    report,
  };
  const parts = {
    server: () => server,
    publicUrl: () => 'http://127.0.0.1',
    corsOrigins: [],
    stopping: new AbortController().signal,
    oidcIssuer: undefined,
    newId: () => 'id',
    time,
    turnEnds: new TurnEnds({ time, sessions: {} as never }),
    sessions: {},
    changes: {
      subscribe: (topic: string, subscriber: ChangeSubscriber) => {
        if (topic === agentTopic) subscribers.add(subscriber);
        return () => subscribers.delete(subscriber);
      },
    },
    realtime: {
      listen: () => {
        if (open.streams === streamsMax)
          throw tooManyRequests(streamsMax, { atMs: 5_000, nowMs: 0, message: 'too many streams' });
        open.streams += 1;
        return () => void (open.streams -= 1);
      },
    },
  };
  const operation = mcpOperations(parts as never).find(({ name }) => name === 'mcp.request');
  const post = async (method: string, params: object, id: unknown = 7): Promise<unknown> => {
    const headers = {
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      'mcp-protocol-version': revision,
      'mcp-method': method,
      ...('name' in params ? { 'mcp-name': String(params.name) } : {}),
    };
    const request: Partial<OperationRequest<TenantCaller>> = {
      caller: userOf(scope),
      headers,
      rawBody: Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, method, params })),
      signal: new AbortController().signal,
      requestId: 'r',
    };
    return operation?.handle(request as OperationRequest<TenantCaller>);
  };
  return {
    time,
    turn,
    open,
    reports,
    post,
    change: (subject: string): void => {
      const change: Change = { number: 1, topic: agentTopic, tenantId: scope.tenantId, subject };
      for (const subscriber of subscribers) subscriber.onChange(change);
    },
    subscribers,
  };
}

type Endpoint = ReturnType<typeof endpoint>;

async function stream(t: ExecutionContext, answer: Promise<unknown>): Promise<HeldReader> {
  const reply = await answer;
  if (!(reply instanceof StreamReply)) throw new Error(`no stream: ${JSON.stringify(reply)}`);
  const reader = new HeldReader();
  const ran = reply.run(reader);
  t.teardown(async () => {
    reader.leave();
    await ran;
  });
  return reader;
}

function listen({ post }: Endpoint, ids: readonly string[], id?: unknown): Promise<unknown> {
  const resourceSubscriptions = ids.map((one) => `platform://agents/${one}`);
  return post('subscriptions/listen', { notifications: { resourceSubscriptions }, _meta: meta }, id);
}

function chat({ post }: Endpoint): Promise<unknown> {
  return post('tools/call', {
    name: 'chat_with_agent',
    arguments: { agent_id: first, message: 'write' },
    _meta: { ...meta, progressToken: 1 },
  });
}

/** Lets everything happen that is due without a clock. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

test('of a thousand changes, a reader that reads nothing finds one for each address, and no change is lost', async (t) => {
  const node = endpoint();
  const reader = await stream(t, listen(node, agents));
  await eventually(() => reader.frames.length === 1, { what: 'the acknowledgement' });
  for (let round = 0; round < 1_000; round += 1) {
    node.change(first);
    node.change(second);
    node.change('20000000-0000-4000-8000-000000000003');
    if (round % 100 === 0) await settle();
  }
  reader.read();
  await eventually(() => reader.messages.length === 3, { what: 'both updates' });
  await settle();
  t.deepEqual(
    reader.messages.slice(1).map(({ params }) => params.uri),
    agents.map((id) => `platform://agents/${id}`),
  );
  node.change(second);
  await eventually(() => reader.messages.length === 4, { what: 'a later update' });
  t.is(reader.messages.at(-1)?.params.uri, `platform://agents/${second}`);
});

test('a burst of changes is told once, and a change after it again', async (t) => {
  const node = endpoint();
  const reader = await stream(t, listen(node, [first]));
  reader.read();
  for (const total of [2, 3]) {
    for (let round = 0; round < 1_000; round += 1) node.change(first);
    await eventually(() => reader.messages.length === total);
  }
  await settle();
  t.is(reader.messages.length, 3);
});

test('a reader that reads nothing gets one report of progress beside the first, and then the result', async (t) => {
  const node = endpoint();
  const answer = chat(node);
  const writer = await eventually(() => node.turn.begun, { what: 'the turn' });
  const say = (content: string): void => {
    writer.write(`event: delta\ndata: ${JSON.stringify({ type: 'delta', content })}\n\n`);
  };
  say('a');
  node.time.advance(0);
  const reader = await stream(t, answer);
  await eventually(() => reader.frames.length === 1, { what: 'the first report' });
  for (let round = 0; round < 1_000; round += 1) {
    say('b');
    node.time.advance(100);
    if (round % 100 === 0) await settle();
  }
  await settle();
  reader.read();
  await eventually(() => reader.messages.length === 2, { what: 'the last report' });
  t.is(reader.messages[1]?.params.message, `a${'b'.repeat(1_000)}`);
  say('c');
  node.time.advance(100);
  await eventually(() => reader.messages.length === 3, { what: 'a later report' });
  node.turn.end?.();
  await eventually(() => reader.messages.at(-1)?.result !== undefined, { what: 'the result' });
  t.is(reader.messages.length, 4);
  t.is(node.time.pending, 0);
});

test('a turn ends although its reader has not taken the last report, and none follows the result', async (t) => {
  const node = endpoint();
  const answer = chat(node);
  const writer = await eventually(() => node.turn.begun, { what: 'the turn' });
  const say = (content: string): void => {
    writer.write(`event: delta\ndata: ${JSON.stringify({ type: 'delta', content })}\n\n`);
    node.time.advance(100);
  };
  say('a');
  const reader = await stream(t, answer);
  await eventually(() => reader.frames.length === 1, { what: 'the first report' });
  say('b');
  node.turn.end?.();
  await settle();
  reader.read();
  await eventually(() => reader.messages.at(-1)?.result !== undefined, { what: 'the result' });
  await settle();
  node.time.advance(1_000);
  await settle();
  t.deepEqual(
    reader.messages.map(({ method }) => method),
    ['notifications/progress', undefined],
  );
});

test('each stream counts among those of its tenant until it ends, whatever it listens to', async (t) => {
  const node = endpoint({ streamsMax: 2 });
  const readers = await Promise.all([stream(t, listen(node, [first])), stream(t, listen(node, [second]))]);
  t.is(node.open.streams, 2);
  await t.throwsAsync(listen(node, [first]), { message: /too many streams/ });
  readers[0]?.leave();
  await eventually(() => node.open.streams === 1, { what: 'the end of a stream' });
  t.is(node.subscribers.size, 1);
  // The library refuses it, since it says nothing of notifications.
  await node.post('subscriptions/listen', { _meta: meta });
  t.is(node.open.streams, 1);
  await stream(t, listen(node, [first]));
  t.is(node.open.streams, 2);
  t.deepEqual(node.reports, []);
});

test('long ids, progress tokens and addresses are refused before anything repeats them', async (t) => {
  const node = endpoint();
  const refused = async (answer: Promise<unknown>): Promise<object> => {
    const { body, status } = (await answer) as { body: string; status: number };
    t.is(status, 400);
    t.true(body.length < 500);
    return JSON.parse(body);
  };
  const long = 'x'.repeat(3_900_000);
  for (const method of ['subscriptions/listen', 'tools/call', 'tools/list', 'notifications/cancelled'])
    t.like(await refused(node.post(method, { _meta: meta }, long)), {
      id: null,
      error: {
        code: -32_600,
        message: 'id has more than 200 characters. Send a number, or a shorter text such as a UUID.',
      },
    });
  const params = { name: 'chat_with_agent', arguments: {}, _meta: { ...meta, progressToken: long } };
  const token = (await refused(node.post('tools/call', params))) as { error: { message: string } };
  t.like(token, { id: 7, error: { code: -32_602 } });
  t.regex(token.error.message, /^params\._meta\.progressToken has more than 200 characters\. Send /);
  t.like(await refused(node.post('resources/read', { uri: `platform://agents/${long}`, _meta: meta })), {
    id: 7,
    error: { code: -32_602 },
  });
  const address = (await refused(listen(node, [first, 'x'.repeat(2_000)]))) as { error: { message: string } };
  t.like(address, { id: 7, error: { code: -32_602 } });
  t.regex(
    address.error.message,
    /^params\.notifications\.resourceSubscriptions\.1 has more than 2000 characters\. /,
  );
  t.is(node.open.streams, 0);
  t.is(node.turn.begun, undefined);
});

test('an id of two hundred characters names a stream', async (t) => {
  const reader = await stream(t, listen(endpoint(), [first], 'x'.repeat(200)));
  await eventually(() => reader.frames.length === 1);
  t.regex(reader.frames[0] ?? '', /subscriptions\/acknowledged/);
});
