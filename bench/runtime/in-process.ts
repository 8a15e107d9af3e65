import { volatileCounter } from '../../cluster/example/counter.js';
import { systemTime } from '../../cluster/time/system.js';
import { startLocalNode } from './nodes.js';
import { medianRate, ratesInTurn, rateOf, ratio, type Row } from './measure.js';

/** Calls within one process, each with an envelope, a deadline and a trace context. */
export async function inProcess(): Promise<Row[]> {
  const kind = volatileCounter(systemTime);
  const node = await startLocalNode([kind]);
  const references = Array.from({ length: 1_000 }, (_, index) => node.actor(kind, 'bench', `c${index}`));
  const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
  const run = async (calls: number, inFlight: number): Promise<void> => {
    let left = calls;
    const one = async (lane: number): Promise<void> => {
      for (let index = lane; left > 0; index += 1) {
        left -= 1;
        await references[index % references.length]?.add({ amount: 1 }, { traceparent, deadlineMs: 5_000 });
      }
    };
    await Promise.all(Array.from({ length: inFlight }, (_, lane) => one(lane)));
  };
  await run(200_000, 64);
  await bareQueue(200_000, 64);
  const { bare, troupe } = await ratesInTurn(
    {
      bare: () => rateOf(300_000, (count) => bareQueue(count, 64)),
      troupe: () => rateOf(300_000, (count) => run(count, 64)),
    },
    7,
    0,
  );
  await node.stop();
  return [
    {
      name: 'a bare queue with a promise for each call',
      value: medianRate(bare, 'perCpuSecond'),
      unit: 'per CPU s',
    },
    { name: 'Troupe, 64 in flight', value: medianRate(troupe), unit: 'calls/s' },
    {
      name: 'Troupe, 64 in flight, by CPU time',
      value: medianRate(troupe, 'perCpuSecond'),
      unit: 'per CPU s',
      aim: 1_000_000,
    },
    { name: 'Troupe ÷ bare queue, by CPU time', value: ratio(troupe, bare, 'perCpuSecond'), unit: '×' },
  ];
}

/** A minimal mailbox: messages with a promise each, processed one after the other once per burst. */
async function bareQueue(calls: number, inFlight: number): Promise<void> {
  let sum = 0;
  let queue: { readonly amount: number; readonly resolve: (sum: number) => void }[] = [];
  const drain = (): void => {
    const burst = queue;
    queue = [];
    for (const { amount, resolve } of burst) resolve((sum += amount));
  };
  const ask = (amount: number): Promise<number> =>
    new Promise((resolve) => {
      if (queue.push({ amount, resolve }) === 1) queueMicrotask(drain);
    });
  let left = calls;
  const one = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      await ask(1);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, one));
}
