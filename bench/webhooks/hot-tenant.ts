// The effect of a tenant that sends fifty times its share on another tenant: how long the other's messages take to be
// accepted and answered, alternately with and without the hot tenant.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { percentile } from '../support/load.js';
import { type PacedAnswer, sendPaced } from '../support/paced.js';
import { pinLoad, startServer } from '../support/servers.js';
import { requestOf } from './request.js';

const sharePerSecond = 20;
const times = 50;
const seconds = 15;
/** Until the node runs as after hours of use: for the first messages half the time is compilation. */
const warmSeconds = 20;
/** After this long without an answer no more are expected. */
const quietMs = 3_000;
const accepted = z.object({ execution_id: z.string() });

export async function measureHotTenant(rounds: number): Promise<void> {
  pinLoad();
  const answeredAt = new Map<string, number>();
  const receiver = createServer((request, response) => {
    const [execution = ''] = String(request.headers['idempotency-key']).split(':');
    answeredAt.set(execution, performance.now());
    request.resume();
    response.writeHead(200).end();
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  process.env['BENCH_RECEIVER'] = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
  process.env['BENCH_PER_MINUTE'] = String(sharePerSecond * 60);
  const server = await startServer('troupe', './hot-tenant.server.js', import.meta.url);
  const { port, facts } = server;
  const { calmPath = '', calmSecret = '' } = facts;
  let sender = 0;
  const calm = (forSeconds: number): Promise<readonly PacedAnswer[]> =>
    sendPaced({
      port,
      request: () => requestOf(calmPath, calmSecret, sender++),
      perSecond: sharePerSecond,
      seconds: forSeconds,
      connections: 16,
    });
  const hot = (which: 'limited' | 'free', forSeconds: number): Promise<readonly PacedAnswer[]> =>
    sendPaced({
      port,
      request: (index) =>
        requestOf(facts[`${which}Path`] ?? '', facts[`${which}Secret`] ?? '', index % 6_400),
      perSecond: sharePerSecond * times,
      seconds: forSeconds,
      connections: 128,
    });
  for (const which of ['limited', 'free'] as const) {
    const alone: Latencies = { acceptedMs: [], answeredMs: [] };
    const withHot: Latencies = { acceptedMs: [], answeredMs: [] };
    const statuses = new Map<number, number>();
    // Warms up, and uses up the minute of the limited tenant.
    await Promise.all([calm(warmSeconds), hot(which, warmSeconds)]);
    await settled(answeredAt);
    for (let round = 0; round < rounds; round += 1) {
      const without = await calm(seconds);
      await settled(answeredAt);
      gather(alone, without, answeredAt);
      const [own, others] = await Promise.all([calm(seconds), hot(which, seconds)]);
      await settled(answeredAt);
      gather(withHot, own, answeredAt);
      for (const { status } of others) statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
    console.log(
      `\n${rounds} rounds of ${seconds} s: ${sharePerSecond} messages per second of one tenant, while another sends ` +
        `${times} times as many${which === 'limited' ? ', all but its share refused' : ', all accepted'} ` +
        `(${[...statuses].map(([status, count]) => `${count} with ${status}`).join(', ')})`,
    );
    show('accepted', alone.acceptedMs, withHot.acceptedMs);
    show('answered', alone.answeredMs, withHot.answeredMs);
  }
  await server.stop();
  receiver.close();
}

interface Latencies {
  readonly acceptedMs: number[];
  readonly answeredMs: number[];
}

function gather(into: Latencies, answers: readonly PacedAnswer[], answeredAt: Map<string, number>): void {
  for (const { status, body, dueAtMs, ms } of answers) {
    if (status !== 202) throw new Error(`the calm tenant got ${status} ${body}`);
    into.acceptedMs.push(ms);
    const at = answeredAt.get(accepted.parse(JSON.parse(body)).execution_id);
    into.answeredMs.push((at ?? Number.POSITIVE_INFINITY) - dueAtMs);
  }
}

/** Waits for outstanding answers, so that they do not affect the next phase. */
async function settled(answeredAt: Map<string, number>): Promise<void> {
  let before = -1;
  while (before !== answeredAt.size) {
    before = answeredAt.size;
    await sleep(quietMs);
  }
}

function show(measure: string, alone: readonly number[], withHot: readonly number[]): void {
  const [quiet, loud] = [Float64Array.from(alone).sort(), Float64Array.from(withHot).sort()];
  const ratio = (share: number): string => (percentile(loud, share) / percentile(quiet, share)).toFixed(2);
  const figures = (sorted: Float64Array): string =>
    `p50 ${percentile(sorted, 0.5).toFixed(1)} ms, p99 ${percentile(sorted, 0.99).toFixed(1)} ms`;
  console.log(
    `  ${measure} alone ${figures(quiet)}; with the hot tenant ${figures(loud)}; ratio of p99 ${ratio(0.99)}`,
  );
}
