import test from 'ava';
import { clusterConfig, freshProcessId, openLoneNode } from '../../../../cluster/index.js';
import { Histogram } from '../../../../cluster/measures/histogram.js';
import { VirtualTime } from '../../../../cluster/simulation/virtual-time.js';
import { measuresText } from '../../../../src/infra/runtime/measures.js';
import { SourceFailures } from '../../../../src/infra/runtime/source-failures.js';
import { createLog } from '../../../../src/infra/diagnostics/index.js';

test('a failing source is logged once a minute per query, with the number of unlogged failures', async (t) => {
  const lines: string[] = [];
  const take = (line: string): void => void lines.push(line);
  const { logger } = createLog({
    level: 'info',
    destination: { write: take, writeAscii: take, flushSync: () => undefined },
  });
  const time = new VirtualTime();
  const failures = new SourceFailures(logger, time);
  const failed = failures.of('turns');
  for (let second = 0; second < 90; second += 1) {
    failed('unfinished', new Error('a cast is missing'));
    await time.advance(1_000);
  }
  failed('run', new Error('it failed'));
  failures.of('control_expiries')('upcoming', new Error('away'));
  const told = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  t.deepEqual(
    told.map(({ level, source, asked, unsaid }) => [level, source, asked, unsaid]),
    [
      ['error', 'turns', 'unfinished', undefined],
      ['error', 'turns', 'unfinished', 59],
      ['error', 'turns', 'run', undefined],
      ['error', 'control_expiries', 'upcoming', undefined],
    ],
  );
  t.like(told[0]?.['error'], { message: 'a cast is missing' });
});

test('metrics show by source the work of recovery and timers and the failures of their sources', async (t) => {
  const open = await openLoneNode({ kinds: [], config: clusterConfig(), process: freshProcessId('alone') });
  t.teardown(() => open.stop());
  const lateness = new Histogram();
  lateness.add(3);
  const text = measuresText(open.node.describe(), [
    { source: 'turns', recovery: { looks: 4, takenUp: 3, givenUp: 1, failures: 2 } },
    { source: 'control_expiries', timers: { waiting: 6, fired: 5, failures: 7, lateness } },
  ]);
  for (const line of [
    'troupe_runtime_source_failures_total{source="turns"} 2',
    'troupe_runtime_source_failures_total{source="control_expiries"} 7',
    'troupe_runtime_recovery_looks_total{source="turns"} 4',
    'troupe_runtime_recovery_taken_up_total{source="turns"} 3',
    'troupe_runtime_recovery_given_up_total{source="turns"} 1',
    'troupe_runtime_timers_fired_total{source="control_expiries"} 5',
    'troupe_runtime_timers_waiting{source="control_expiries"} 6',
    'troupe_runtime_timer_lateness_ms_sum{source="control_expiries"} 3',
  ]) {
    t.true(text.includes(`${line}\n`), line);
  }
  t.is(text.match(/# TYPE troupe_runtime_source_failures_total counter/g)?.length, 1);
});
