// Runs simulated clusters: node scripts/simulate.mjs --seeds 2000 [--from 1] [--processes 2], or --seed 77. With
// --of quota the clusters run the platform's quota, with --of conversations its inbox, sessions, turns, ledger and
// outbox, with --of members only membership. With --of scale one large cluster of whole nodes loses a zone and is upgraded:
// --nodes 10,100,300,1000 --sessions 10000000 --parts 4 (in which all processes are replaced).
import '../bin/supported-node.mjs';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { build } from './build.mjs';

await build();
const { runMany, show } = await import('../dist/test/simulation/many.js');
const { showQueues } = await import('../dist/test/simulation/queues.js');
const { runMembers } = await import('../dist/test/simulation/member-run.js');
const { runQuotas } = await import('../dist/test/simulation/quota-many.js');
const { runConversationSeeds } = await import('../dist/test/simulation/conversations/many.js');
const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '2000' },
    from: { type: 'string', default: '1' },
    seed: { type: 'string' },
    of: { type: 'string', default: 'cluster' },
    nodes: { type: 'string', default: '10,100,300,1000' },
    sessions: { type: 'string', default: '10000000' },
    parts: { type: 'string', default: '4' },
    // Changes of cluster/config.ts: --set neighboursMax=1000
    set: { type: 'string', multiple: true, default: [] },
    processes: { type: 'string', default: String(availableParallelism()) },
  },
});
const range =
  values.seed === undefined
    ? { from: Number(values.from), count: Number(values.seeds) }
    : { from: Number(values.seed), count: 1 };
if (!Number.isInteger(range.from) || !Number.isInteger(range.count) || range.count < 1) {
  process.stderr.write('simulate: --seeds, --from and --seed must be integers, and --seeds at least 1\n');
  process.exit(2);
}
if (values.of === 'scale') {
  const { runScale } = await import('../dist/test/simulation/scale/scale-run.js');
  const { showScale } = await import('../dist/test/simulation/scale/show.js');
  const config = Object.fromEntries(
    values.set.map((text) => text.split('=')).map(([name, value]) => [name, Number(value)]),
  );
  const reports = [];
  for (const nodes of values.nodes.split(',').map(Number)) {
    const progress = (/** @type {string} */ text) =>
      process.stderr.write(`simulate: ${nodes} nodes: ${text}\n`);
    reports.push(
      await runScale({
        nodes,
        sessions: Number(values.sessions),
        upgradeParts: Number(values.parts),
        config,
        progress,
      }),
    );
    process.stdout.write(`${showScale(reports)}\n\n`);
  }
  process.exit(reports.every(({ fenced }) => fenced.length === 0) ? 0 : 1);
}
const startedAt = performance.now();
if (values.of === 'members') {
  let failing = 0;
  let views = 0;
  let steps = 0;
  let traceMs = 0;
  for (let seed = range.from; seed < range.from + range.count; seed += 1) {
    const verdict = await runMembers({ seed });
    views += verdict.views;
    steps += verdict.steps;
    traceMs += verdict.traceMs;
    if (verdict.violations.length === 0) continue;
    failing += 1;
    process.stdout.write(`${show(verdict)}\n`);
  }
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
  process.stdout.write(
    `simulate: members on ${range.count} seeds in ${seconds} s, ${views.toLocaleString('en')} views, ${steps.toLocaleString('en')} steps replayed against the model ` +
      `in ${(traceMs / 1_000).toFixed(1)} s, ${failing} failing seeds\n`,
  );
  process.exit(failing === 0 ? 0 : 1);
}
if (values.of === 'quota') {
  const { failures, ...sums } = await runQuotas(range, Number(values.processes));
  for (const failure of failures) process.stdout.write(`${show(failure)}\n`);
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
  process.stdout.write(
    `simulate: quotas on ${sums.seeds} seeds in ${seconds} s, ${sums.begun.toLocaleString('en')} calls admitted, ` +
      `${sums.refused.toLocaleString('en')} refused, ${sums.reserved.toLocaleString('en')} reservations, ` +
      `${failures.length} failing seeds\n`,
  );
  process.exit(failures.length === 0 ? 0 : 1);
}
if (values.of === 'conversations') {
  const { failures, ...sums } = await runConversationSeeds(range, Number(values.processes));
  for (const failure of failures) process.stdout.write(`${show(failure)}\n`);
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
  process.stdout.write(
    `simulate: conversations on ${sums.seeds} seeds in ${seconds} s, ${sums.turns.toLocaleString('en')} turns, ` +
      `${sums.effects.toLocaleString('en')} outside effects, ${sums.billed.toLocaleString('en')} billed model calls, ` +
      `${sums.steps.toLocaleString('en')} steps replayed against the model, the last turn ended at most ` +
      `${(sums.endedAfterMs / 1_000).toFixed(1)} s after the faults, ${sums.messages.toLocaleString('en')} messages with ` +
      `${sums.callbacks.toLocaleString('en')} callbacks, the last at most ` +
      `${(sums.deliveredAfterMs / 1_000).toFixed(1)} s after the faults, ${failures.length} failing seeds\n`,
  );
  process.exit(failures.length === 0 ? 0 : 1);
}
const {
  seeds,
  calls,
  answered,
  effects,
  streams,
  finished,
  fired,
  granted,
  events,
  steps,
  traceMs,
  queues,
  failures,
} = await runMany(range, Number(values.processes));
const seconds = (performance.now() - startedAt) / 1_000;
for (const failure of failures) process.stdout.write(`${show(failure)}\n`);
process.stdout.write(
  `simulate: ${seeds} seeds in ${seconds.toFixed(1)} s, ${events.toLocaleString('en')} events, ` +
    `${calls.toLocaleString('en')} calls (${answered.toLocaleString('en')} answered), ` +
    `${effects.toLocaleString('en')} outside effects, ${streams.toLocaleString('en')} streams, ` +
    `${finished.toLocaleString('en')} rows of work, ${fired.toLocaleString('en')} timers, ` +
    `${granted.toLocaleString('en')} grants, ` +
    `${steps.toLocaleString('en')} steps replayed against the model in ${(traceMs / 1_000).toFixed(1)} s, ${failures.length} failing seeds\n` +
    `the most that a queue held:\n${showQueues(queues)}\n`,
);
process.exit(failures.length === 0 ? 0 : 1);
