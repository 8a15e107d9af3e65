// Tools in a turn: their requests, the model's input, the records.
import test from 'ava';
import { databaseOfFile } from '../../../support/database/database.js';
import { eventually } from '../../../support/clocks/eventually.js';
import { answerJson, startMcpServer, startToolServer } from '../../../support/servers/tool-servers.js';
import { calling, lastResults, lastTools, saying } from '../../../support/builders/tool-turns.js';
import {
  agentOf,
  type AgentWishes,
  noVendors,
  RecordingPorts,
  startTurns,
  type TurnsBench,
} from '../../../support/builders/turns.js';
import { OpenAiServer } from '../../../support/servers/vendors/openai-server.js';
import type { TurnStart } from '../../../../src/conversations/turns/index.js';
import { servedTime } from '../../../support/clocks/served-time.js';

const database = databaseOfFile(test);
const openai = new OpenAiServer();
let bench: TurnsBench;
let strict: TurnsBench;

test.serial.before(async () => {
  await openai.start();
  const vendors = { ...noVendors, openai: { apiKey: 'sk-test-0001', baseUrl: openai.baseUrl } };
  bench = await startTurns(database, { vendors });
  strict = await startTurns(database, { vendors, contextStrict: true });
});

test.after.always(() => openai.stop());

// Serial: the vendor follows one queue of scripts.

const model = 'openai.gpt-4.1-mini';
const noSecrets = { type: 'none' };

function api(name: string, url: string, more: object = {}) {
  return { name, type: 'api', editor_schema: { api: { url, auth: noSecrets, ...more } } };
}

function mcp(name: string, url: string, more: object = {}, tools = ['echo', 'fail']) {
  return {
    name,
    type: 'mcp',
    editor_schema: { mcp: { url, ...more } },
    tools: tools.map((tool) => ({
      name: tool,
      description: `does ${tool}`,
      input_schema: { type: 'object' },
    })),
  };
}

async function run(
  schemas: NonNullable<AgentWishes['schemas']>,
  more: Partial<TurnStart> = {},
  {
    ports = new RecordingPorts(),
    on = bench,
    llm = {},
  }: { ports?: RecordingPorts; on?: TurnsBench; llm?: object } = {},
) {
  const start = on.start(agentOf({ llm: { model, ...llm }, schemas }), 'do it', more);
  return { start, ports, end: await on.turns.run(start, ports) };
}

test.serial(
  'tools of one round run together, each a step, and their results are recorded with the next start',
  async (t) => {
    const http = await startToolServer(t, (_, response) => answerJson(response, { degrees: 21 }));
    const server = await startMcpServer(t);
    openai.script(
      { ...calling(['weather', { city: 'Bonn' }], ['files__echo', { text: 'hi' }]), pieces: ['I look.'] },
      saying('It is ', '21.'),
    );
    const { end, ports, start } = await run([
      { ...api('weather', `${http.url}/w/\${args.city}`), description: 'The weather of a city' },
      mcp('files', server.url),
    ]);
    t.like(end, { outcome: 'COMPLETED', content: 'I look.\n\nIt is 21.', toolCalls: 2, error: undefined });
    t.is(ports.text, end.content);
    t.deepEqual(lastTools(openai), ['weather', 'files__echo', 'files__fail']);
    t.deepEqual(lastResults(openai), ['{"degrees":21}', '{"text":"hi"}']);
    t.like(http.heard[0], { path: '/w/Bonn', method: 'GET' });
    t.is(http.heard[0]?.headers['idempotency-key'], `${start.executionId}:2:0`);
    t.deepEqual(
      ports.records.map((steps) => steps.map(({ number, name, state }) => `${number} ${name} ${state}`)),
      [
        ['1 agent.tool-loop started'],
        ['1 agent.tool-loop finished', '2 weather started', '3 files__echo started'],
        ['2 weather finished', '3 files__echo finished', '4 agent.tool-loop started'],
      ].map((steps) => steps.toSorted()),
    );
    t.deepEqual(
      end.steps.map(({ number, state }) => [number, state]),
      [[4, 'finished']],
    );
    const told = ports.events.flatMap((event) =>
      event.type === 'tool' ? [`${event.name} ${event.state}`] : [],
    );
    t.deepEqual(told.toSorted(), [
      'files__echo finished',
      'files__echo started',
      'weather finished',
      'weather started',
    ]);
    t.deepEqual(ports.phases, ['load', 'intent', 'model', 'tools', 'model', 'finish']);
    t.true(end.usage.outputVisible === 5 && end.cost > 0, 'both rounds are counted');
  },
);

test.serial("context replaces the model's value, and the model never sees it", async (t) => {
  const http = await startToolServer(t, (_, response) => answerJson(response, {}));
  const server = await startMcpServer(t);
  openai.script(
    calling(['find', { q: 'x' }], ['files__echo', { body: [{ owner: 'forged' }], text: 'a' }]),
    saying('ok'),
  );
  const { end, ports } = await run(
    [
      api('find', `${http.url}/\${context.user}`),
      mcp('files', server.url, { defaults_from_context: { 'body[].owner': 'user' } }),
    ],
    { toolContext: { user: 'bound-user', _hidden: 1 } },
  );
  t.is(end.outcome, 'COMPLETED');
  t.is(http.heard[0]?.path, '/bound-user?q=x');
  t.deepEqual(JSON.parse(lastResults(openai)[1] ?? ''), { body: [{ owner: 'bound-user' }], text: 'a' });
  t.false(JSON.stringify(openai.requests.at(-2)?.body).includes('bound-user'));
  const calls = ports.recorded().map(({ detail }) => (detail?.step === 'tool' ? detail.arguments : ''));
  t.false(calls.join('').includes('bound-user'), 'it stands in no recorded argument');
});

test.serial('an MCP server receives the context value also when the model leaves its list out', async (t) => {
  const server = await startMcpServer(t);
  const files = mcp('files', server.url, { defaults_from_context: { 'body[].requesterId': 'requesterId' } });
  openai.script(calling(['files__echo', {}], ['files__echo', { body: [] }]), saying('ok'));
  await run([files], { toolContext: { requesterId: 'u-1' } });
  const received = '{"body":[{"requesterId":"u-1"}]}';
  t.deepEqual(lastResults(openai), [received, received]);
});

test.serial('a tool without its required context is refused if configured, otherwise noted', async (t) => {
  const http = await startToolServer(t, (_, response) => answerJson(response, { called: true }));
  const server = await startMcpServer(t);
  const schemas = [
    api('find', `${http.url}/\${context.user}`),
    mcp('files', server.url, { defaults_from_context: { owner: 'user' } }),
  ];
  const both = calling(['find', {}], ['files__echo', {}]);
  openai.script(both, saying('ok'));
  await run(schemas);
  t.deepEqual(lastResults(openai), ['{"called":true}', '{}']);
  const { tenantId: tenant } = bench.scope;
  t.is(bench.notes.length, 2);
  for (const tool of ['find', 'files']) {
    const noted = bench.notes.find((facts) => facts['tool'] === tool);
    t.like(noted, { tenant, missing: ['user'] });
  }
  const [calledHttp, calledServer] = [http.heard.length, server.heard.length];
  openai.script(both, saying('ok'));
  const { end, ports } = await run(schemas, {}, { on: strict });
  t.is(end.outcome, 'COMPLETED');
  for (const told of lastResults(openai)) {
    t.regex(told, /^CONTEXT_PARAM_MISSING: The context does not contain user\./);
  }
  t.is(http.heard.length, calledHttp, 'the API was not called');
  t.is(server.heard.length, calledServer, 'the server was not called');
  t.true(ports.events.some((event) => event.type === 'tool' && event.state === 'failed'));
});

test.serial(
  'arguments that are not a JSON object, and unknown tools, are reported to the model',
  async (t) => {
    const http = await startToolServer(t, (_, response) => answerJson(response, {}));
    openai.script(
      calling(
        ['find', '{"city": "Bo'],
        ['find', '[1]'],
        ['nothing', {}],
        ['suggest_quick_replies', { labels: ['a'] }],
      ),
      saying('sorry'),
    );
    const { end, ports } = await run([api('find', http.url)]);
    t.like(end, { outcome: 'COMPLETED', content: 'sorry', blocks: [] });
    const [first, second, third, fourth] = lastResults(openai);
    t.regex(first ?? '', /not a JSON object/);
    t.regex(second ?? '', /not a JSON object/);
    t.is(third, 'There is no tool of the name nothing.');
    t.is(fourth, 'There is no tool of the name suggest_quick_replies.');
    t.is(http.heard.length, 0);
    t.is(ports.records.length, 2, 'what has no effect outside needs no record before it');
  },
);

test.serial(
  'a slow tool does not end the turn: the model is informed, and gets the other answers',
  async (t) => {
    const slow = await startToolServer(t, () => undefined);
    const quick = await startToolServer(t, (_, response) => answerJson(response, { ok: true }));
    openai.script(calling(['slow', {}], ['quick', {}], ['silent__echo', {}]), saying('so be it'));
    const { end, ports } = await run([
      api('slow', slow.url, { timeout_ms: 1_000 }),
      api('quick', quick.url),
      mcp('silent', `${slow.url}/mcp`, { call_timeout_ms: 1_000 }),
    ]);
    t.like(end, { outcome: 'COMPLETED', content: 'so be it' });
    const [first, second, third] = lastResults(openai);
    t.regex(first ?? '', /^The tool did not answer in time: .*1000 ms/);
    t.is(second, '{"ok":true}');
    t.regex(third ?? '', /^The tool did not answer in time: .*1000 ms/);
    const states = ports.recorded().flatMap(({ kind, state }) => (kind === 'tool' ? [state] : []));
    t.deepEqual(states, ['timeout', 'finished', 'timeout']);
    t.is(ports.events.filter((event) => event.type === 'tool' && event.state === 'timeout').length, 2);
  },
);

test.serial('the model gets text of a bounded size, whatever tools answer', async (t) => {
  const http = await startToolServer(t, async ({ path }, response) => {
    if (path === '/html') return void response.end('<html>hi</html>');
    if (path === '/nothing') return void response.writeHead(204).end();
    if (path === '/broken') return void response.destroy();
    if (path === '/error') return answerJson(response, { reason: 'no' }, 500);
    // 100 MB, as far as anybody reads them.
    const piece = Buffer.alloc(1024 * 1024, 'x');
    for (let sent = 0; sent < 100 && !response.destroyed; sent += 1) {
      if (!response.write(piece))
        await new Promise((resolve) => response.once('drain', resolve).once('close', resolve));
    }
    response.end();
  });
  const paths = ['html', 'nothing', 'broken', 'error', 'large'];
  openai.script(calling(...paths.map((path) => [path, {}] as const), ['huge__echo', {}]), saying('fine'));
  const { end } = await run([
    ...paths.map((path) => api(path, `${http.url}/${path}`)),
    mcp('huge', `${http.url}/large`),
  ]);
  t.is(end.outcome, 'COMPLETED');
  const [html, nothing, broken, error, large, huge] = lastResults(openai);
  t.is(html, '<html>hi</html>');
  t.is(nothing, 'The tool answered nothing.');
  t.regex(broken ?? '', /^The tool could not be used: .*broke/);
  t.is(error, 'The tool answered with status 500.\n{"reason":"no"}');
  t.true(large?.startsWith('xxx') && large.length < 21_000);
  t.regex(large ?? '', /the rest was cut/);
  t.true((huge?.length ?? 0) < 1_000);
  t.regex(huge ?? '', /^The tool could not be used/);
});

test.serial('what tools and models write badly is recorded in characters that can be stored', async (t) => {
  const server = await startToolServer(t, ({ path, body }, response) => {
    const { id } = JSON.parse(body === '' ? '{}' : body) as { id?: number };
    // One of the two is cut in the middle of a character.
    const message = `${path === '/even' ? '' : 'x'}\0${'😀'.repeat(400)}`;
    answerJson(response, { jsonrpc: '2.0', id: id ?? null, error: { code: -32_000, message } });
  });
  const unknown = `${'n'.repeat(99)}😀`;
  openai.script(calling(['even__echo', {}], ['odd__echo', {}], [unknown, {}]), saying('fine'));
  const { end, ports } = await run([mcp('even', `${server.url}/even`), mcp('odd', `${server.url}/odd`)]);
  t.is(end.outcome, 'COMPLETED');
  const [even, odd, named] = lastResults(openai);
  for (const text of [even, odd]) t.regex(text ?? '', /😀/);
  t.regex(named ?? '', /^There is no tool of the name nnn/);
  // PostgreSQL refuses these escapes in JSON, and with them the turn.
  const recorded = JSON.stringify(ports.recorded(undefined, end));
  t.notRegex(recorded, /\\u0000|\\ud83d/);
});

test.serial('secrets are inserted where the schema says, and removed from answers', async (t) => {
  const http = await startToolServer(t, ({ headers }, response) =>
    answerJson(response, { said: headers['authorization'] }),
  );
  await bench.owner.call('POST', '/api/secrets', { name: 'key', value: 'planted-value', kind: 'generic' });
  const server = await startMcpServer(t, 'another');
  openai.script(calling(['find', {}], ['files__echo', {}]), saying('ok'));
  const bearer = { type: 'bearer', secret_ref: 'key' };
  const schemas = [api('find', http.url, { auth: bearer }), mcp('files', server.url, { auth: bearer })];
  const { end, ports } = await run(schemas);
  t.is(http.heard[0]?.headers['authorization'], 'Bearer planted-value');
  t.is(end.outcome, 'COMPLETED');
  t.is(lastResults(openai)[0], '{"said":"Bearer [REDACTED]"}');
  t.regex(lastResults(openai)[1] ?? '', /^The tool could not be used/);
  t.false(JSON.stringify([ports.records, ports.events, end]).includes('planted-value'));
  t.false(JSON.stringify(openai.requests.at(-1)?.body).includes('planted-value'));

  openai.script(calling(['find', {}], ['files__echo', {}]), saying('ok'));
  const agent = agentOf({ llm: { model }, schemas });
  const draft = {
    ...agent,
    version: null,
    approved: new Map(agent.snapshot.schemas.map(({ id }) => [id, []])),
  };
  const heard = [http.heard.length, server.heard.length];
  await bench.turns.run(bench.start(draft, 'do it'), new RecordingPorts());
  for (const told of lastResults(openai))
    t.regex(told, /The secret of the tool is not approved for 127\.0\.0\.1/);
  t.deepEqual([http.heard.length, server.heard.length], heard, 'the secret went nowhere');
});

test.serial('after the last round with tools the model answers without them', async (t) => {
  const http = await startToolServer(t, (_, response) => answerJson(response, {}));
  openai.script(calling(['find', {}]), calling(['find', {}]), {
    ...calling(['find', {}]),
    pieces: ['enough'],
  });
  const before = openai.requests.length;
  const { end } = await run([api('find', http.url)], {}, { llm: { max_tool_rounds: 2 } });
  t.like(end, { outcome: 'COMPLETED', content: 'enough', toolCalls: 2 });
  t.is(http.heard.length, 2);
  const choices = openai.requests.slice(before).map(({ body }) => body['tool_choice']);
  t.deepEqual(choices, [undefined, undefined, 'none']);
});

test.serial(
  "allowed_tools limit an MCP server's tools, and their names fit the vendors' rules",
  async (t) => {
    const server = await startMcpServer(t);
    openai.script(saying('a'));
    await run([
      mcp('one', server.url, { allowed_tools: ['echo'] }),
      mcp('two', server.url, {}, ['a.b/c', 'a_b_c', 'n'.repeat(90)]),
    ]);
    t.deepEqual(lastTools(openai), ['one__echo', 'two__a_b_c', `two__${'n'.repeat(59)}`]);
  },
);

test.serial('concurrent and total tool calls of a model are bounded', async (t) => {
  let running = 0;
  let most = 0;
  const http = await startToolServer(t, (_, response) => {
    running += 1;
    most = Math.max(most, running);
    setImmediate(() => {
      running -= 1;
      answerJson(response, {});
    });
  });
  openai.script(calling(...Array.from({ length: 70 }, () => ['find', {}] as const)), saying('ok'));
  const { end } = await run([api('find', http.url)]);
  t.like(end, { outcome: 'COMPLETED', toolCalls: 64 });
  t.is(http.heard.length, 64);
  t.true(most <= 16, `${most} at once`);
  const told = lastResults(openai);
  t.is(told.length, 70, 'each call has an answer');
  t.is(told.filter((text) => text === 'Too many calls at once.').length, 6);
});

test.serial('a cancel closes the connection to the tool within a second', async (t) => {
  let closed = 0;
  const slow = await startToolServer(t, (_, response) => {
    response.on('close', () => (closed += 1));
  });
  for (const schema of [api('slow', slow.url), mcp('slow', `${slow.url}/mcp`)]) {
    closed = 0;
    openai.script({ ...calling([schema.type === 'api' ? 'slow' : 'slow__echo', {}]), pieces: ['I look.'] });
    const ports = new RecordingPorts();
    const heard = slow.heard.length;
    const running = run([schema], {}, { ports });
    await eventually(() => slow.heard.length > heard);
    const servedMs = servedTime(t);
    ports.end('cancelled');
    // Not until the end of the turn, which waits for the store.
    await eventually(() => closed > 0);
    t.true(servedMs() < 1_000);
    const { end } = await running;
    t.like(end, { outcome: 'CANCELLED', content: 'I look.' });
    t.like(end.steps.at(-1), { kind: 'tool', state: 'failed' });
  }
});

test.serial("the turn's deadline ends it during a tool call", async (t) => {
  const slow = await startToolServer(t, () => undefined);
  openai.script(calling(['slow', {}]));
  const { end } = await run([api('slow', slow.url)], { deadlineMs: 3_000 });
  t.like(end, { outcome: 'TIMEOUT', timeoutClock: 'turn' });
  t.like(end.steps.at(-1), { kind: 'tool', state: 'timeout' });
});

test.serial('none of these tests logged an unexpected error', (t) => {
  t.deepEqual(bench.problems, []);
  t.deepEqual(strict.problems, []);
});
