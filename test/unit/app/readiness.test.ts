import test from 'ava';
import { diagnosticsOperations } from '../../../src/app/diagnostics-operations.js';
import { Metrics, RecentErrors } from '../../../src/infra/diagnostics/index.js';
import { systemIds } from '../../../src/infra/platform/index.js';
import { eventually } from '../../support/clocks/eventually.js';
import { ManualTime } from '../../support/clocks/manual-time.js';
import { startEdge } from '../../support/servers/edge.js';

/** A server with a dependency that the test lets answer or fail. */
async function probed(t: { teardown(action: () => Promise<void>): void }) {
  const time = new ManualTime('2026-01-01T00:00:00Z');
  const waiting: ((error?: Error) => void)[] = [];
  const state = { runs: 0, stopping: false };
  const check = (): Promise<void> => {
    state.runs += 1;
    return new Promise((resolve, reject) => {
      waiting.push((error) => (error === undefined ? resolve() : reject(error)));
    });
  };
  const edge = await startEdge(
    diagnosticsOperations({
      time,
      checks: [{ name: 'database', check }],
      stopping: () => state.stopping,
      metrics: new Metrics({ runningRequests: () => 0, lagMs: () => 0 }),
      recentErrors: new RecentErrors({ time, ids: systemIds }),
      errorRecords: { list: async () => [], listOf: async () => [] },
      ownAgents: async () => new Map(),
    }),
  );
  t.teardown(() => edge.close());
  const probe = async () => {
    const answer = await fetch(`${edge.url}/health/ready`);
    return { status: answer.status, text: await answer.text() };
  };
  /** Asks that many times at once, and ends the checks once every request has arrived. */
  const ask = async (times: number, error?: Error) => {
    const answers = Array.from({ length: times }, probe);
    await eventually(() => edge.server.runningRequests === times);
    for (const end of waiting.splice(0)) end(error);
    return Promise.all(answers);
  };
  return { time, state, probe, ask };
}

test('simultaneous probes share one run of the checks, and the next half second has its result', async (t) => {
  const { time, state, probe, ask } = await probed(t);
  const answers = await ask(50);
  t.deepEqual([...new Set(answers.map(({ status }) => status))], [200]);
  t.is(state.runs, 1);
  time.advance(499);
  t.is((await probe()).status, 200);
  t.is(state.runs, 1);
  time.advance(1);
  t.deepEqual(
    (await ask(2)).map(({ status }) => status),
    [200, 200],
  );
  t.is(state.runs, 2);
});

test('probes share a failure too, and a node that works again is ready half a second later', async (t) => {
  const { time, state, probe, ask } = await probed(t);
  for (const { status, text } of await ask(3, new Error('db-1 refused'))) {
    t.is(status, 503);
    t.like(JSON.parse(text), { details: { failing: ['database'], checks: { database: 'unavailable' } } });
  }
  t.is((await probe()).status, 503);
  t.is(state.runs, 1);
  time.advance(500);
  t.deepEqual(
    (await ask(1)).map(({ status }) => status),
    [200],
  );
  t.is(state.runs, 2);
});

test('a stopping node says so at once, whatever the last run found', async (t) => {
  const { state, probe, ask } = await probed(t);
  await ask(1);
  state.stopping = true;
  const { status, text } = await probe();
  t.is(status, 503);
  t.like(JSON.parse(text), { details: { failing: ['node'], checks: { node: 'stopping' } } });
  t.is(state.runs, 1);
});
