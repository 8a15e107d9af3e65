// The intent of a message, classified by the cheapest model if the agent asks for it.
import test from 'ava';
import { z } from 'zod';
import { TurnLost } from '../../../../src/conversations/turns/index.js';
import { sql } from '../../../../src/infra/storage/index.js';
import { databaseOfFile } from '../../../support/database/database.js';
import { eventually } from '../../../support/clocks/eventually.js';
import { saying } from '../../../support/builders/tool-turns.js';
import {
  agentOf,
  noVendors,
  RecordingPorts,
  startTurns,
  type TurnsBench,
} from '../../../support/builders/turns.js';
import { OpenAiServer } from '../../../support/servers/vendors/openai-server.js';

const database = databaseOfFile(test);
const openai = new OpenAiServer();
let bench: TurnsBench;

test.serial.before(async () => {
  await openai.start();
  const vendors = { ...noVendors, openai: { apiKey: 'sk-test-0001', baseUrl: openai.baseUrl } };
  bench = await startTurns(database, { vendors });
});

test.after.always(() => openai.stop());

const agent = agentOf({ llm: { model: 'openai.gpt-4.1' }, metadata: { intent_check: 'model' } });

test.serial("the plan's cheapest model classifies a message, as a separate step and call", async (t) => {
  openai.script(saying('"Greeting"'), saying('Good day.'));
  const ports = new RecordingPorts();
  const start = bench.start(agent, 'Salve, amice!');
  const end = await bench.turns.run(start, ports);
  t.like(end, { outcome: 'COMPLETED', content: 'Good day.' });
  const [check, answer] = openai.requests.map(({ body }) => String(body['model']));
  t.not(check, answer);
  t.is(answer, 'gpt-4.1');
  t.deepEqual(
    ports.records.map((steps) =>
      steps.map(({ number, kind, name, state }) => `${number} ${kind} ${name} ${state}`),
    ),
    [
      ['1 intent agent.intent-check started'],
      ['1 intent agent.intent-check finished', '2 model agent.light-response started'],
    ],
  );
  t.is(end.usage.outputVisible, 2, 'the check is counted');
  const sources = (): Promise<readonly string[]> =>
    bench.store.inTenant(bench.scope, (tx) =>
      tx.anyFirst(
        sql.type(z.object({ call_source: z.string() }))`
          select call_source from calls
          where tenant_id = ${bench.scope.tenantId} and execution_id = ${start.executionId}
          order by call_source`,
      ),
    );
  await eventually(async () => (await sources()).length === 2);
  t.deepEqual(await sources(), ['agent.intent-check', 'agent.light-response']);

  const asked = openai.requests.length;
  openai.script(saying('Good day again.'));
  const recorded = ports
    .recorded(2)
    .map((step) => (step.kind === 'model' ? { ...step, state: 'started' as const } : step));
  const again = await bench.turns.run({ ...start, attempt: 2, recorded }, new RecordingPorts());
  t.is(again.content, 'Good day again.');
  t.is(openai.requests.length, asked + 1, 'the check is not made again');
});

test.serial('an unusable or failing classification takes the full path', async (t) => {
  for (const script of [
    saying('I would say it is a greeting.'),
    saying(''),
    { status: 400, message: 'no' },
  ]) {
    openai.script(script, saying('At your service.'));
    const end = await bench.turns.run(bench.start(agent, 'Hello'), new RecordingPorts());
    t.like(end, { outcome: 'COMPLETED', content: 'At your service.' });
    t.is(end.steps[0]?.name, 'agent.tool-loop');
  }
  t.deepEqual(bench.problems, []);
});

test.serial('a classification that another process owns, or that was cancelled, ends the turn', async (t) => {
  const lost = new RecordingPorts().onRecord(() => Promise.reject(new Error('fenced')));
  await t.throwsAsync(bench.turns.run(bench.start(agent, 'Hello'), lost), { instanceOf: TurnLost });
  openai.script({ hangBeforeHeaders: true });
  const cancelled = new RecordingPorts().onRecord(() => {
    setImmediate(() => cancelled.end('cancelled'));
  });
  t.is((await bench.turns.run(bench.start(agent, 'Hello'), cancelled)).outcome, 'CANCELLED');
});
