import { fork } from 'node:child_process';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import type { Reference } from '../../cluster/activation/service.js';
import { ScriptedMembers } from '../../cluster/simulation/scripted-membership.js';
import type { EchoServiceDefinition } from '../../generated/troupe/examples/v1/echo.js';
import { BareClient } from './bare.js';
import { echo } from './echo.js';
import { median, percentile, rateOf, type Row } from './measure.js';
import { memberOf, nodeOver, peersOf } from './nodes.js';

const payload = new Uint8Array(200).fill(7);
const rounds = 3;

/** Calls between two processes on one machine, each way in turn within one run, the same payload. */
export async function crossNode(): Promise<Row[]> {
  const port = await freePort();
  const child = fork(fileURLToPath(new URL('peer.js', import.meta.url)), [String(port)]);
  const bare = await new Promise<number>((resolve) => {
    child.once('message', (message: { bare: number }) => resolve(message.bare));
  });
  const members = new ScriptedMembers();
  const server = memberOf('server', `127.0.0.1:${port}`);
  members.join(server);
  const client = memberOf('client', '127.0.0.1:0');
  const node = nodeOver([echo], members.join(client), peersOf('client', 0));
  await node.start(new AbortController().signal);
  members.publish([server.process]);
  const plain = new BareClient(bare);
  const references = Array.from({ length: 256 }, (_, index) => node.actor(echo, 'bench', `e${index}`));
  let turn = 0;
  const ways = {
    unary: () => plain.unary(payload),
    batched: () => plain.batched(payload),
    troupe: () => {
      turn += 1;
      return references[turn & 255]?.echo({ payload }) ?? Promise.reject(new Error('no reference'));
    },
  };
  for (const way of Object.values(ways)) await drive(way, 4_000, 64);
  const rows: Row[] = [];
  for (const inFlight of [1, 32, 128, 512]) {
    const rates: Record<keyof typeof ways, number[]> = { unary: [], batched: [], troupe: [] };
    const byCpu: Record<keyof typeof ways, number[]> = { unary: [], batched: [], troupe: [] };
    for (let round = 0; round < rounds; round += 1) {
      for (const name of ['unary', 'batched', 'troupe'] as const) {
        const calls = (name === 'unary' ? 3_000 : 30_000) * (inFlight === 1 ? 0.1 : 1);
        const rate = await rateOf(calls, (count) => drive(ways[name], count, inFlight));
        rates[name].push(rate.perSecond);
        byCpu[name].push(rate.perCpuSecond);
      }
    }
    const toUnary = median(rates.troupe.map((rate, round) => rate / (rates.unary[round] ?? 1)));
    const toBatched = median(rates.troupe.map((rate, round) => rate / (rates.batched[round] ?? 1)));
    const cpuToBatched = median(byCpu.troupe.map((rate, round) => rate / (byCpu.batched[round] ?? 1)));
    const at = `${inFlight} in flight`;
    rows.push(
      { name: `bare grpc-js unary, ${at}`, value: median(rates.unary), unit: 'calls/s' },
      { name: `bare batched stream, ${at}`, value: median(rates.batched), unit: 'calls/s' },
      { name: `Troupe, ${at}`, value: median(rates.troupe), unit: 'calls/s' },
      { name: `Troupe ÷ unary, ${at}`, value: toUnary, unit: '×', ...(inFlight === 128 ? { aim: 15 } : {}) },
      {
        name: `Troupe ÷ batched stream, ${at}`,
        value: toBatched,
        unit: '×',
        ...(inFlight === 128 ? { aim: 0.4 } : {}),
      },
      { name: `Troupe ÷ batched stream by the caller's CPU time, ${at}`, value: cpuToBatched, unit: '×' },
    );
  }
  const latencies = { unary: await latencyOf(ways.unary), troupe: await latencyOf(ways.troupe) };
  rows.push(
    { name: 'bare grpc-js unary, p50 at one in flight', value: latencies.unary * 1_000, unit: 'us' },
    { name: 'Troupe, p50 at one in flight', value: latencies.troupe * 1_000, unit: 'us' },
    {
      name: 'Troupe ÷ unary, p50',
      value: latencies.troupe / latencies.unary,
      unit: '×',
      aim: 0.6,
      atMost: true,
    },
  );
  rows.push(...(await streams(plain, (count) => flow(references[0], count))));
  plain.close();
  await node.stop();
  child.disconnect();
  return rows;
}

async function streams(plain: BareClient, troupe: (count: number) => Promise<void>): Promise<Row[]> {
  const count = 50_000;
  const rates = { bare: [] as number[], troupe: [] as number[] };
  for (let round = 0; round < rounds; round += 1) {
    rates.bare.push((await rateOf(count, (messages) => plain.flow(messages, 64))).perSecond);
    rates.troupe.push((await rateOf(count, troupe)).perSecond);
  }
  return [
    { name: 'bare grpc-js server stream, 64 B messages', value: median(rates.bare), unit: 'msgs/s' },
    { name: 'Troupe stream, 64 B messages', value: median(rates.troupe), unit: 'msgs/s' },
  ];
}

async function flow(
  reference: Reference<typeof EchoServiceDefinition> | undefined,
  count: number,
): Promise<void> {
  if (reference === undefined) throw new Error('no reference');
  for await (const _ of reference.flow({ count, bytes: 64 })) continue;
}

async function drive(call: () => Promise<unknown>, calls: number, inFlight: number): Promise<void> {
  let left = calls;
  const lane = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      await call();
    }
  };
  await Promise.all(Array.from({ length: inFlight }, lane));
}

async function latencyOf(call: () => Promise<unknown>): Promise<number> {
  const taken: number[] = [];
  for (let index = 0; index < 3_000; index += 1) {
    const startedAt = performance.now();
    await call();
    taken.push(performance.now() - startedAt);
  }
  return percentile(taken, 0.5);
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      const port = typeof address === 'object' && address !== null ? address.port : 0;
      server.close(() => resolve(port));
    });
  });
}
