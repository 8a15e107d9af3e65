// Many concurrent calls of mixed outcomes: the ledger equals the vendors' bill to the token.
import { createServer, type AddressInfo, type Server } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import {
  CircuitBreakers,
  inputTokens,
  LeaveController,
  outputTokens,
  VendorPools,
  type AttemptReport,
  type LlmRequest,
} from '../../../src/llm/index.js';
import { eventually } from '../../support/clocks/eventually.js';
import { AnthropicServer } from '../../support/servers/vendors/anthropic-server.js';
import { ask, call, catalogue, credential, target } from '../../support/servers/vendors/call-harness.js';
import { GeminiServer } from '../../support/servers/vendors/gemini-server.js';
import { OpenAiServer } from '../../support/servers/vendors/openai-server.js';
import type { Script } from '../../support/servers/vendors/vendor-server.js';

const callsCount = 400;

/** A vendor's possible reactions to one request; all but the first three cost an attempt and no tokens. */
const outcomes: readonly Script[] = [
  { pieces: ['Hello', ' world'] },
  { thinking: ['hm', ' so'], pieces: ['Well', ',', ' yes'] },
  { pieces: ['See'], toolCalls: [{ id: 'c1', name: 'f', args: ['{"a":1}'] }] },
  { status: 500 },
  { status: 429, headers: { 'retry-after-ms': '1' } },
  { status: 400 },
  { garbage: 'data: <html>\n\n' },
];

test('four hundred calls with retries, fallbacks and refusals are recorded to the token, each attempt once', async (t) => {
  const servers = [
    ['openai.gpt-4.1-mini', new OpenAiServer()],
    ['anthropic.claude-haiku-4-5', new AnthropicServer()],
    ['google.gemini-2.5-flash', new GeminiServer()],
    ['xai.grok-4.3', new OpenAiServer('xai')],
  ] as const;
  let state = 20_261_101;
  const next = (bound: number): number => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * bound);
  };
  for (const [, server] of servers) {
    await server.start();
    server.script(...Array.from({ length: callsCount }, () => outcomes[next(outcomes.length)] ?? {}));
  }
  const pools = new VendorPools();
  t.teardown(async () => {
    await pools.close();
    for (const [, server] of servers) await server.stop();
  });

  const booked: AttemptReport[] = [];
  const kinds = new Map<string, number>();
  let begun = 0;
  const worker = async (): Promise<void> => {
    while (begun < callsCount) {
      const nth = begun++;
      const chain = [0, 1, 2].map((step) => servers[(nth + step) % servers.length] ?? servers[0]);
      const done = await call(
        chain.map(([model, server]) => target(model, server)),
        {
          request: { ...ask(`question number ${nth} of many`), stream: nth % 3 !== 0 },
          // Separate breakers: failures of one call must not affect the next.
          ports: { pools, breakers: new CircuitBreakers() },
        },
      );
      booked.push(...done.reports);
      kinds.set(done.outcome.kind, (kinds.get(done.outcome.kind) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: 16 }, worker));

  t.true((kinds.get('completed') ?? 0) > 200 && (kinds.get('failed') ?? 0) > 20, JSON.stringify([...kinds]));
  t.is(new Set(booked.map(({ attemptId }) => attemptId)).size, booked.length);
  t.is(
    booked.length,
    servers.reduce((sum, [, server]) => sum + server.requests.length, 0),
  );
  t.true(booked.every(({ usage }) => usage.source === 'reported'));
  for (const [model, server] of servers) {
    const rows = booked.filter(({ target: { model: each } }) => each.id === model);
    t.deepEqual(
      {
        input: rows.reduce((sum, { usage }) => sum + inputTokens(usage), 0),
        output: rows.reduce((sum, { usage }) => sum + outputTokens(usage), 0),
      },
      server.billed,
      model,
    );
  }
});

/** Takes connections and bytes, and answers nothing: over TLS, the handshake never ends. */
async function silent(t: ExecutionContext, seen: { bytes: number }): Promise<number> {
  const server: Server = createServer((socket) => {
    socket.on('data', ({ length }) => (seen.bytes += length));
    socket.on('error', () => undefined);
    t.teardown(() => void socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => void server.close());
  return (server.address() as AddressInfo).port;
}

const vectors = { inputs: ['hello'], encoding: 'float' } as const;
const unstreamed: readonly (readonly [string, Partial<LlmRequest>])[] = [
  ['openai.gpt-4.1', { stream: false, maxTokens: 8_000 }],
  ['openai.text-embedding-3-small', { stream: false, messages: [], embedding: vectors }],
];

for (const [id, request] of unstreamed) {
  test(`${id}: a call that is left before it was sent costs nothing, one that was sent is booked whole`, async (t) => {
    const model = catalogue.byId(id);
    if (model === undefined) throw new Error(`no model ${id}`);
    const leftAt = async (scheme: string): Promise<number> => {
      const seen = { bytes: 0 };
      const port = await silent(t, seen);
      const signal = new LeaveController();
      const only = { model, credential: credential('openai', `${scheme}://127.0.0.1:${port}/v1`) };
      const left = call([only], { request, signal });
      await eventually(() => seen.bytes > 0);
      signal.leave();
      const { outcome, reports } = await left;
      t.is(outcome.kind, 'cancelled');
      t.is(reports.length, 1);
      const [usage] = reports.map((report) => report.usage);
      return usage === undefined ? Number.NaN : inputTokens(usage) + outputTokens(usage);
    };
    t.is(await leftAt('https'), 0);
    t.true((await leftAt('http')) >= (request.maxTokens ?? 1));
  });
}
