// One tenant at a hundred times its share: what it changes for another one's calls, turns, webhooks, realtime events and
// reports. Both have the same plan, without a limit that would refuse the hot one but that of 300 reports a minute for each
// person. The calm one is measured by turns alone and beside it. The node has one core; the load and PostgreSQL share the
// other.
//
//   npm run bench:fairness              2 rounds of 10 s, 3 requests a second each
//   npm run bench:fairness -- 1 5 3
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { percentile } from '../support/load.js';
import { type PacedAnswer, sendPaced } from '../support/paced.js';
import { record } from '../support/results.js';
import { median } from '../support/servers.js';
import { Follower } from './follower.js';
import { requestsTo, statusOf, type Work } from './requests.js';
import { startTwoTenants } from './two-tenants.js';

const [rounds = 2, seconds = 10, perSecond = 3] = process.argv.slice(2).map(Number);
const times = 100;
const aim = 1.5;
/** What is left of the warming work runs until then. */
const restMs = 3_000;
/** Requests of the calm tenant that an overloaded node refused. */
let shed = 0;
const denied = z.object({ data: z.object({ consumer_key: z.string() }) });
const works: readonly Work[] = ['calls', 'turns', 'webhooks', 'realtime', 'reports'];

const { server, stop } = await startTwoTenants();
const followers = {
  calm: await Follower.open(server.port, server.facts['calmKey'] ?? ''),
  hot: await Follower.open(server.port, server.facts['hotKey'] ?? ''),
};

console.log(
  `\n${rounds} rounds of ${seconds} s: ${perSecond} requests a second of one tenant, while another sends ${times} times as many`,
);
for (const work of works) {
  const alone: Float64Array[] = [];
  const beside: Float64Array[] = [];
  let refused = 0;
  let sent = 0;
  shed = 0;
  await warm(work);
  for (let round = 0; round < rounds; round += 1) {
    alone.push(await figuresOf(work, await calm(work)));
    const [own, others] = await Promise.all([calm(work), hot(work)]);
    beside.push(await figuresOf(work, own));
    refused += others.filter(({ status }) => status !== statusOf[work]).length;
    sent += others.length;
  }
  show(work, alone, beside, `${refused} of ${sent} of the hot one refused, ${shed} of the calm one shed`);
}
await stop();
process.exit(0);

function calm(work: Work): Promise<readonly PacedAnswer[]> {
  return sendPaced({
    port: server.port,
    request: requestsTo(server, 'calm', work),
    perSecond,
    seconds,
    connections: 16,
  });
}

function hot(work: Work): Promise<readonly PacedAnswer[]> {
  const request = requestsTo(server, 'hot', work);
  return sendPaced({ port: server.port, request, perSecond: perSecond * times, seconds, connections: 64 });
}

/** Until its code is compiled, work takes twice as long. */
async function warm(work: Work): Promise<void> {
  await Promise.all([calm(work), hot(work)]);
  await sleep(restMs);
}

async function figuresOf(work: Work, answers: readonly PacedAnswer[]): Promise<Float64Array> {
  // An overloaded node sheds the newest work of everybody.
  const wrong = answers.find(({ status }) => status !== statusOf[work] && status !== 503);
  if (wrong !== undefined) throw new Error(`the calm tenant got ${wrong.status} ${wrong.body}`);
  const served = answers.filter(({ status }) => status === statusOf[work]);
  shed += answers.length - served.length;
  const took = served.map(({ ms }) => ms);
  return Float64Array.from(work === 'realtime' ? await arrivals(served) : took).sort();
}

/** Until the event reached the one who follows the tenant. */
function arrivals(answers: readonly PacedAnswer[]): Promise<readonly number[]> {
  return Promise.all(
    answers.map(async ({ body, dueAtMs }) => {
      const consumer = denied.parse(JSON.parse(body)).data.consumer_key;
      return (await followers.calm.arrival(consumer)) - dueAtMs;
    }),
  );
}

function show(
  work: string,
  alone: readonly Float64Array[],
  beside: readonly Float64Array[],
  note: string,
): void {
  const at = (share: number) => (values: readonly Float64Array[]) =>
    values.map((one) => percentile(one, share));
  const [p50, p99] = [at(0.5), at(0.99)];
  const ratios = p99(beside).map((value, round) => value / (p99(alone)[round] ?? Number.NaN));
  console.log(
    `  ${work.padEnd(16)} alone p50 ${median(p50(alone)).toFixed(1)} ms, p99 ${median(p99(alone)).toFixed(1)} ms; ` +
      `beside the hot one p50 ${median(p50(beside)).toFixed(1)} ms, p99 ${median(p99(beside)).toFixed(1)} ms; ` +
      `p99 ${median(ratios).toFixed(2)} [${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)}], aim below ${aim}; ${note}`,
  );
  record({
    bench: 'fairness',
    what: `p99 of another tenant's ${work} beside one at a hundred times its share`,
    unit: 'ms, p99',
    ours: p99(beside),
    against: 'the same tenant alone',
    theirs: p99(alone),
    better: 'less',
    ourLatency: { p50Ms: median(p50(beside)), p99Ms: median(p99(beside)) },
    theirLatency: { p50Ms: median(p50(alone)), p99Ms: median(p99(alone)) },
    aim,
  });
}
