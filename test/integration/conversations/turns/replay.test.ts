// A turn cut off at any point and repeated by another process: recorded steps are not repeated.
import test from 'ava';
import { type RecordedStep, TurnLost } from '../../../../src/conversations/turns/index.js';
import { databaseOfFile } from '../../../support/database/database.js';
import { bookedFor } from '../../../support/database/usage-rows.js';
import { answerJson, startMcpServer, startToolServer } from '../../../support/servers/tool-servers.js';
import { calling, lastResults, saying } from '../../../support/builders/tool-turns.js';
import {
  agentOf,
  noVendors,
  RecordingPorts,
  startTurns,
  type TurnsBench,
} from '../../../support/builders/turns.js';
import { OpenAiServer } from '../../../support/servers/vendors/openai-server.js';
import { billOf } from '../../../support/servers/vendors/vendor-server.js';

const database = databaseOfFile(test);
const openai = new OpenAiServer();
let bench: TurnsBench;

test.serial.before(async () => {
  await openai.start();
  const vendors = { ...noVendors, openai: { apiKey: 'sk-test-0001', baseUrl: openai.baseUrl } };
  bench = await startTurns(database, { vendors });
});

test.after.always(() => openai.stop());

const model = 'openai.gpt-4.1-mini';

function api(name: string, url: string, more: object = {}) {
  return { name, type: 'api', editor_schema: { api: { url: `${url}/${name}`, ...more } } };
}

test.serial(
  'a turn cut off at any record is finished by the next process without repeating a recorded step',
  async (t) => {
    const http = await startToolServer(t, ({ path }, response) => answerJson(response, { path }));
    const server = await startMcpServer(t);
    const agent = agentOf({
      llm: { model },
      schemas: [
        api('read', http.url),
        api('write', http.url, { method: 'POST' }),
        api('order', http.url, { method: 'POST', idempotent: true }),
        api('replace', http.url, { method: 'PUT' }),
        {
          name: 'files',
          type: 'mcp',
          editor_schema: { mcp: { url: server.url } },
          tools: [
            { name: 'echo', description: '', input_schema: {} },
            { name: 'fail', description: '', input_schema: {}, repeatable: true },
          ],
        },
      ],
    });
    const rounds = [
      {
        ...calling(['read', { a: 1 }], ['write', { a: 2 }], ['files__echo', { text: 'e' }]),
        pieces: ['First. '],
      },
      calling(['order', { a: 3 }], ['replace', { a: 4 }], ['files__fail', {}]),
      saying('All ', 'done.'),
    ];
    const asked = () => openai.requests.length;
    const callsOf = (name: string) => http.heard.filter(({ path }) => path.startsWith(`/${name}`));
    const mcpCalls = () => server.heard.filter(({ body }) => body.includes('tools/call')).length;
    const recordsOfTurn = 5;

    for (let cut = 1; cut <= recordsOfTurn; cut += 1) {
      for (const written of [false, true]) {
        const note = `cut at record ${cut}, ${written ? 'written' : 'not written'}`;
        const start = bench.start(agent, 'do it');
        openai.byDefault({ status: 400, message: 'no script' });
        openai.script(...rounds.slice(0, Math.ceil(cut / 2)));
        const dying = new RecordingPorts().onRecord((count) => {
          if (count === cut) throw new Error('the process died');
        });
        const before = asked();
        // Without an answer it is unknown whether the record was written.
        const first = bench.turns.run(start, dying);
        await t.throwsAsync(first, { instanceOf: TurnLost }, note);
        const known = dying.recorded(written ? cut : cut - 1);
        const roundsDone = Math.floor(cut / 2);
        t.is(asked() - before, roundsDone, `${note}: nothing is asked before its start is recorded`);

        const finished = finishedNames(known);
        const roundsKnown = finished.filter((name) => name === 'agent.tool-loop').length;
        // A dead process's remaining scripts are removed for the next one.
        openai.clearScripts();
        openai.script(...rounds.slice(roundsKnown));
        const heardBefore = { asked: asked(), http: http.heard.length, mcp: mcpCalls() };
        const next = new RecordingPorts();
        const end = await bench.turns.run({ ...start, attempt: 2, recorded: known }, next);
        t.like(end, { outcome: 'COMPLETED', content: 'First. \n\nAll done.', toolCalls: 6 }, note);
        t.is(next.text, end.content, note);
        t.is(asked() - heardBefore.asked, rounds.length - roundsKnown, `${note}: rounds`);
        const again = http.heard.slice(heardBefore.http).map(({ path }) => path.slice(1).split('?')[0]);
        const wasBegun = (name: string) =>
          known.some((step) => step.name === name && step.state === 'started');
        t.deepEqual(
          again.toSorted(byName),
          ['read', 'write', 'order', 'replace']
            .filter((name) => !finished.includes(name) && !(name === 'write' && wasBegun(name)))
            .toSorted(byName),
          `${note}: calls`,
        );
        const mcpAgain = [
          !finished.includes('files__echo') && !wasBegun('files__echo'),
          !finished.includes('files__fail'),
        ].filter(Boolean).length;
        t.is(mcpCalls() - heardBefore.mcp, mcpAgain, `${note}: calls of the server`);
        if (wasBegun('write')) {
          const told = next.recorded().find(({ name }) => name === 'write')?.detail;
          t.regex(told?.step === 'tool' ? (told.result ?? '') : '', /outcome of this call is unknown/, note);
        }
        for (const name of ['read', 'order', 'replace']) {
          const keys = new Set(
            callsOf(name)
              .map(({ headers }) => String(headers['idempotency-key']))
              .filter((key) => key.startsWith(start.executionId)),
          );
          t.is(keys.size, 1, `${note}: ${name} has one key, however often it was called`);
        }
        const steps = [...known, ...next.recorded(undefined, end)];
        t.deepEqual(
          [...new Set(steps.map(({ number }) => number))].toSorted((a, b) => a - b),
          [1, 2, 3, 4, 5, 6, 7, 8, 9],
          note,
        );
      }
    }
  },
);

test.serial('each request is booked, also if two processes start a turn under one number', async (t) => {
  const start = bench.start(agentOf({ llm: { model } }), 'do it');
  const before = openai.requests.length;
  // A process that dies before its claim is committed has asked, and the next one counts the same start.
  for (let process = 0; process < 2; process += 1) {
    openai.script(saying('Here.'));
    t.is((await bench.turns.run(start, new RecordingPorts())).outcome, 'COMPLETED');
  }
  const asked = openai.requests.slice(before);
  t.is(asked.length, 2);
  t.deepEqual(await bookedFor(database.url, start.executionId), billOf(asked));
});

function byName(a: string | undefined, b: string | undefined): number {
  return (a ?? '').localeCompare(b ?? '');
}

function finishedNames(steps: readonly RecordedStep[]): readonly string[] {
  return steps.flatMap(({ name, state }) => (state === 'started' ? [] : [name]));
}

test.serial('readers of a repeated turn see its tools and thoughts rebuilt', async (t) => {
  const http = await startToolServer(t, ({ path }, response) => answerJson(response, { path }));
  const agent = agentOf({ llm: { model }, schemas: [api('read', http.url)] });
  openai.script({ ...calling(['read', {}]), thinking: ['hm'], pieces: ['Wait.'] }, saying('Here.'));
  const start = bench.start(agent, 'do it');
  const first = new RecordingPorts();
  const end = await bench.turns.run(start, first);
  const again = new RecordingPorts();
  const asked = openai.requests.length;
  const repeated = await bench.turns.run(
    { ...start, attempt: 2, recorded: first.recorded(undefined, end) },
    again,
  );
  t.is(openai.requests.length, asked);
  t.is(http.heard.length, 1);
  t.deepEqual(
    { ...repeated, steps: [], latencyMs: 0, firstTokenMs: 0 },
    { ...end, steps: [], latencyMs: 0, firstTokenMs: 0 },
  );
  const shape = (ports: RecordingPorts) =>
    ports.events.map((event) => (event.type === 'tool' ? { ...event, latency_ms: 0 } : event));
  t.deepEqual(shape(again), shape(first));
});

test.serial('a turn that ends before it comes to its records keeps what they used and said', async (t) => {
  const http = await startToolServer(t, ({ path }, response) => answerJson(response, { path }));
  const agent = agentOf({ llm: { model }, schemas: [api('read', http.url)] });
  openai.script({ ...calling(['read', {}]), pieces: ['Wait.'] }, saying('Here.'));
  const start = bench.start(agent, 'do it');
  const first = new RecordingPorts();
  const end = await bench.turns.run(start, first);
  const recorded = first.recorded(undefined, end);
  for (const by of ['cancelled', 'suspended'] as const) {
    const again = new RecordingPorts();
    again.end(by);
    const { usage, cost, model: asked, toolCalls, content } = end;
    const stopped = await bench.turns.run({ ...start, attempt: 2, recorded }, again);
    t.like(stopped, { outcome: by.toUpperCase(), usage, cost, model: asked, toolCalls, content });
    t.is(again.text, content);
  }
  const format = { type: 'json_schema', json_schema: { name: 'any', schema: {} } };
  const holding = agentOf({ llm: { model, response_format: format }, schemas: [api('read', http.url)] });
  const held = new RecordingPorts();
  held.end('cancelled');
  const silent = await bench.turns.run({ ...start, agent: holding, attempt: 2, recorded }, held);
  t.like(silent, { usage: end.usage, content: '' });
});

test.serial('the working time of earlier processes counts, the time between them does not', async (t) => {
  const start = bench.start(agentOf({ llm: { model } }), 'do it', { deadlineMs: 20_000 });
  const step = { number: 1, kind: 'model', name: 'agent.tool-loop', state: 'started', detail: null } as const;
  const recordedFor = (ms: number): RecordedStep[] => [
    { ...step, startedAt: new Date(0).toISOString(), finishedAt: new Date(ms).toISOString() },
  ];
  openai.script(saying('in time'));
  const early = { ...start, attempt: 2, recorded: recordedFor(100) };
  t.is((await bench.turns.run(early, new RecordingPorts())).content, 'in time');
  openai.script({ pieces: ['x'], hangBeforeHeaders: true });
  const late = { ...start, attempt: 2, recorded: recordedFor(19_950) };
  const end = await bench.turns.run(late, new RecordingPorts());
  // The time that is left may be over before the vendor is asked: the next test must not get this script.
  openai.clearScripts();
  t.like(end, { outcome: 'TIMEOUT', timeoutClock: 'turn' });
  t.true(end.latencyMs < 15_000, `${end.latencyMs} ms`);
});

test.serial('a started tool that may not be repeated is reported as unknown', async (t) => {
  const http = await startToolServer(t, (_, response) => answerJson(response, {}));
  const agent = agentOf({ llm: { model }, schemas: [api('write', http.url, { method: 'PATCH' })] });
  const start = bench.start(agent, 'do it');
  openai.script(calling(['write', {}]));
  const dying = new RecordingPorts().onRecord((count) => {
    if (count === 3) throw new Error('the process died');
  });
  await t.throwsAsync(bench.turns.run(start, dying), { instanceOf: TurnLost });
  t.is(http.heard.length, 1);
  openai.script(saying('I do not know.'));
  await bench.turns.run({ ...start, attempt: 2, recorded: dying.recorded(2) }, new RecordingPorts());
  t.is(http.heard.length, 1);
  t.regex(lastResults(openai)[0] ?? '', /^The outcome of this call is unknown/);
});
