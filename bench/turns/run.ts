// Turns of an agent that echoes, end to end on one node over HTTP with every row durable, compared with writing the
// same rows by hand on the same machine. The node has one core; the load and PostgreSQL share the other.
//
//   npm run bench:turns              5 seconds per load
//   npm run bench:turns -- 5         seconds per load
//   BENCH_PROFILE=folder npm run bench:turns
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbeddedPostgres } from '../../src/infra/storage/index.js';
import { percentile } from '../support/load.js';
import { record } from '../support/results.js';
import { pinLoad, startServer } from '../support/servers.js';
import { byHand } from './by-hand.js';
import { talk } from './clients.js';

const seconds = Number(process.argv[2] ?? 5);
pinLoad();
const directory = await mkdtemp(join(tmpdir(), 'troupe-bench-turns-'));
const postgres = await startEmbeddedPostgres({ directory: join(directory, 'postgres'), flush: true });
process.env['BENCH_DATABASE'] = postgres.connectionString;
const troupe = await startServer('Troupe', './troupe.server.js', import.meta.url);
const { key = '', agent = '' } = troupe.facts;
const load = { port: troupe.port, key, agent };

await talk({ ...load, sessions: 16, seconds: 2 });
await idleSessions(2_000);
const rates: number[] = [];
for (const sessions of [1, 64, 512]) {
  const cpuBefore = await troupe.cpuSeconds();
  const result = await talk({ ...load, sessions, seconds });
  const cpuMs = (((await troupe.cpuSeconds()) - cpuBefore) * 1_000) / result.turns;
  const perSecond = result.turns / result.seconds;
  rates.push(perSecond);
  const ms = (values: Float64Array, share: number): string => percentile(values, share).toFixed(1);
  console.log(
    `${String(sessions).padStart(4)} sessions at once: ${perSecond.toFixed(0)} turns/s, ` +
      `first event p50 ${ms(result.firstEventMs, 0.5)} ms, p99 ${ms(result.firstEventMs, 0.99)} ms, ` +
      `whole turn p50 ${ms(result.wholeMs, 0.5)} ms, p99 ${ms(result.wholeMs, 0.99)} ms, ${cpuMs.toFixed(2)} ms of CPU per turn`,
  );
  record({
    bench: 'turns',
    what: `turns of ${sessions} sessions at once`,
    unit: 'turns per second',
    ours: [perSecond],
    better: 'more',
    ourLatency: { p50Ms: percentile(result.wholeMs, 0.5), p99Ms: percentile(result.wholeMs, 0.99) },
  });
  record({
    bench: 'turns',
    what: `first event of a turn, ${sessions} sessions at once`,
    unit: 'ms, p50',
    ours: [percentile(result.firstEventMs, 0.5)],
    better: 'less',
    ourLatency: { p50Ms: percentile(result.firstEventMs, 0.5), p99Ms: percentile(result.firstEventMs, 0.99) },
    ...(sessions === 1 ? { aim: 2.5 } : {}),
  });
}

const limit = await byHand(postgres.connectionString, { writers: 4, batch: 64, seconds });
record({
  bench: 'turns',
  what: 'turns, the best of the above',
  unit: 'turns per second',
  ours: [Math.max(...rates)],
  against: 'the same rows written by hand',
  theirs: [limit],
  better: 'more',
  aim: 0.5,
});
console.log(
  `by hand, 64 turns per transaction: the rows of ${limit.toFixed(0)} turns/s; the best result above is ` +
    `${(Math.max(...rates) / limit).toFixed(2)} of that`,
);

await troupe.stop();
await postgres.stop();
await rm(directory, { recursive: true, force: true });
process.exit(0);

/** Runs first: later, sessions would use memory that the load has freed. */
async function idleSessions(count: number): Promise<void> {
  const [heapBefore, before] = [await troupe.heapBytes(), await troupe.residentBytes()];
  const atOnce = 50;
  for (let made = 0; made < count; made += atOnce) {
    await talk({ ...load, sessions: atOnce, seconds: 60, turnsEach: 1 });
  }
  const bytes = ((await troupe.residentBytes()) - before) / count;
  const heapBytes = ((await troupe.heapBytes()) - heapBefore) / count;
  console.log(
    `idle sessions: ${(bytes / 1024).toFixed(1)} KB each, ${Math.floor(2 ** 30 / bytes)} per GB; ` +
      `${(heapBytes / 1024).toFixed(1)} KB of heap each`,
  );
}
