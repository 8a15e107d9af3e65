import { volatileCounter } from '../../cluster/example/counter.js';
import { systemTime } from '../../cluster/time/system.js';
import { startLocalNode } from './nodes.js';
import { median, rateOf, type Rate, type Row } from './measure.js';

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
  const rates: Rate[] = [];
  for (let round = 0; round < 5; round += 1) rates.push(await rateOf(300_000, (count) => run(count, 64)));
  await node.stop();
  return [
    {
      name: 'in-process calls, 64 in flight',
      value: median(rates.map((rate) => rate.perSecond)),
      unit: 'calls/s',
    },
    {
      name: 'in-process calls, 64 in flight, by CPU time',
      value: median(rates.map((rate) => rate.perCpuSecond)),
      unit: 'calls/s',
      aim: 1_000_000,
    },
  ];
}
