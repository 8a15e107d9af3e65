import type { Reference } from '../../cluster/activation/service.js';
import type { EchoServiceDefinition } from '../../generated/troupe/examples/v1/echo.js';
import { BareClient } from './bare.js';
import { echo } from './echo.js';
import { latencyOf, medianRate, rateFor, rateOf, ratesInTurn, ratio, type Row } from './measure.js';
import { startSecondProcess } from './second-process.js';

const payload = new Uint8Array(200).fill(7);
const rounds = 3;
const roundSeconds = 0.8;

type Echo = Reference<typeof EchoServiceDefinition>;

/** Calls between two processes on one machine with the same payload; the variants alternate within one run. */
export async function crossNode(): Promise<Row[]> {
  const { node, peer, stop } = await startSecondProcess([echo]);
  const plain = new BareClient(peer.barePort);
  const references = Array.from({ length: 256 }, (_, index) => node.actor(echo, 'bench', `e${index}`));
  let turn = 0;
  const calls = {
    unary: () => plain.unary(payload),
    batched: () => plain.batched(payload),
    troupe: () => {
      turn += 1;
      return references[turn & 255]?.echo({ payload }) ?? Promise.reject(new Error('no reference'));
    },
  };
  for (const call of Object.values(calls)) await rateFor(0.5, 64, call);
  const rows: Row[] = [];
  for (const inFlight of [1, 32, 128, 512]) rows.push(...(await ratesAt(inFlight, calls)));
  const latencies = {
    unary: await latencyOf(2_000, calls.unary),
    troupe: await latencyOf(2_000, calls.troupe),
  };
  rows.push(
    { name: 'bare grpc-js unary, p50 at one in flight', value: latencies.unary.p50Ms * 1_000, unit: 'us' },
    { name: 'Troupe, p50 at one in flight', value: latencies.troupe.p50Ms * 1_000, unit: 'us' },
    { name: 'bare grpc-js unary, p99 at one in flight', value: latencies.unary.p99Ms * 1_000, unit: 'us' },
    { name: 'Troupe, p99 at one in flight', value: latencies.troupe.p99Ms * 1_000, unit: 'us' },
    {
      name: 'Troupe ÷ unary, p50 at one in flight',
      value: latencies.troupe.p50Ms / latencies.unary.p50Ms,
      unit: '×',
      aim: 0.6,
      atMost: true,
    },
  );
  const [first] = references;
  if (first === undefined) throw new Error('no reference');
  rows.push(...(await streams(plain, first, 1)), ...(await streams(plain, first, 32)));
  plain.close();
  await stop();
  return rows;
}

async function ratesAt(
  inFlight: number,
  calls: Readonly<Record<'unary' | 'batched' | 'troupe', () => Promise<unknown>>>,
): Promise<Row[]> {
  const drive = (call: () => Promise<unknown>) => (seconds: number) => rateFor(seconds, inFlight, call);
  const ways = { unary: drive(calls.unary), batched: drive(calls.batched), troupe: drive(calls.troupe) };
  const { unary, batched, troupe } = await ratesInTurn(ways, rounds, roundSeconds);
  const at = `${inFlight} in flight`;
  const isAimed = inFlight === 128;
  return [
    { name: `bare grpc-js unary, ${at}`, value: medianRate(unary), unit: 'calls/s' },
    { name: `bare batched stream, ${at}`, value: medianRate(batched), unit: 'calls/s' },
    { name: `Troupe, ${at}`, value: medianRate(troupe), unit: 'calls/s' },
    {
      name: `Troupe ÷ unary, ${at}`,
      value: ratio(troupe, unary),
      unit: '×',
      ...(isAimed ? { aim: 15 } : {}),
    },
    {
      name: `Troupe ÷ batched stream, ${at}`,
      value: ratio(troupe, batched),
      unit: '×',
      ...(isAimed ? { aim: 0.4 } : {}),
    },
    {
      name: `Troupe ÷ batched stream by the caller's CPU time, ${at}`,
      value: ratio(troupe, batched, 'perCpuSecond'),
      unit: '×',
    },
  ];
}

/** Messages of 64 bytes over `atOnce` streams, to readers that read everything. */
async function streams(plain: BareClient, echoes: Echo, atOnce: number): Promise<Row[]> {
  const each = Math.floor(50_000 / atOnce);
  const all = (flow: () => Promise<void>) => () =>
    rateOf(each * atOnce, async () => {
      await Promise.all(Array.from({ length: atOnce }, flow));
    });
  const ways = { bare: all(() => plain.flow(each, 64)), troupe: all(() => flow(echoes, each)) };
  await ratesInTurn(ways, 1, 0);
  const { bare, troupe } = await ratesInTurn(ways, rounds, 0);
  const of = `${atOnce === 1 ? 'one stream' : `${atOnce} streams`} of 64 B messages`;
  return [
    { name: `bare grpc-js server streaming, ${of}`, value: medianRate(bare), unit: 'msgs/s' },
    { name: `Troupe, ${of}`, value: medianRate(troupe), unit: 'msgs/s' },
    { name: `Troupe ÷ bare, ${of}`, value: ratio(troupe, bare), unit: '×' },
  ];
}

async function flow(reference: Echo, count: number): Promise<void> {
  for await (const _ of reference.flow({ count, bytes: 64 })) continue;
}
