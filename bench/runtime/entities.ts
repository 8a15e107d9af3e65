import { fork, type ChildProcess } from 'node:child_process';
import { volatileCounter } from '../../cluster/example/counter.js';
import { systemTime } from '../../cluster/time/system.js';
import { freePort } from '../../test/support/servers/free-port.js';
import { startDatabase } from '../support/database.js';
import { peerProgram } from '../support/peers.js';
import { median, medianRate, p50Of, rateFor, ratesInTurn, ratio, type Rate, type Row } from './measure.js';
import { startSecondProcess } from './second-process.js';

const rounds = 3;
const roundSeconds = 2;

interface EntityRate {
  readonly perSecond: number;
  readonly p50Ms: number;
}

/** A counter in memory, called from another process: a volatile actor compared with an entity of Effect Cluster. */
export async function volatileCalls(): Promise<Row[]> {
  const kind = volatileCounter(systemTime);
  const { node, stop } = await startSecondProcess([kind]);
  const references = Array.from({ length: 256 }, (_, index) => node.actor(kind, 'bench', `v${index}`));
  let turn = 0;
  const call = (): Promise<unknown> => {
    turn += 1;
    return references[turn & 255]?.add({ amount: 1 }) ?? Promise.reject(new Error('no reference'));
  };
  const effect = await startEffect();
  // Compiling its code takes long: the rate still rises after seconds.
  await effect.drive(6, 64);
  await rateFor(1, 64, call);
  const rates = await ratesInTurn(
    {
      troupe: (seconds) => rateFor(seconds, 64, call),
      effect: async (seconds): Promise<Rate> => {
        const { perSecond } = await effect.drive(seconds, 64);
        return { perSecond, perCpuSecond: Number.NaN };
      },
    },
    rounds,
    roundSeconds,
  );
  const p50s = { troupe: [] as number[], effect: [] as number[] };
  for (let round = 0; round < rounds; round += 1) {
    p50s.troupe.push(await p50Of(1_000, call));
    p50s.effect.push((await effect.drive(1, 1)).p50Ms);
  }
  await effect.stop();
  await stop();
  return [
    { name: 'Effect Cluster entity, 64 in flight', value: medianRate(rates.effect), unit: 'calls/s' },
    { name: 'Troupe volatile actor, 64 in flight', value: medianRate(rates.troupe), unit: 'calls/s' },
    {
      name: 'Troupe ÷ Effect Cluster, 64 in flight',
      value: ratio(rates.troupe, rates.effect),
      unit: '×',
      aim: 20,
    },
    { name: 'Effect Cluster entity, p50 at one in flight', value: median(p50s.effect) * 1_000, unit: 'us' },
    { name: 'Troupe volatile actor, p50 at one in flight', value: median(p50s.troupe) * 1_000, unit: 'us' },
    {
      name: 'Troupe ÷ Effect Cluster, p50 at one in flight',
      value: median(p50s.troupe) / median(p50s.effect),
      unit: '×',
    },
  ];
}

async function startEffect() {
  const database = await startDatabase();
  const program = peerProgram('effect-counter.mjs');
  const start = async (role: string): Promise<ChildProcess> => {
    const child = fork(program, [role, database.url, String(await freePort())]);
    await messageOf(child);
    return child;
  };
  const runner = await start('runner');
  const caller = await start('caller');
  return {
    async drive(seconds: number, inFlight: number): Promise<EntityRate> {
      caller.send({ seconds, inFlight });
      const answer = await messageOf<EntityRate & { readonly failed?: string }>(caller);
      if (answer.failed !== undefined) throw new Error(`Effect Cluster: ${answer.failed}`);
      return answer;
    },
    async stop(): Promise<void> {
      caller.disconnect();
      runner.disconnect();
      await database.stop();
    },
  };
}

function messageOf<Message>(child: ChildProcess): Promise<Message> {
  return new Promise((resolve, reject) => {
    const died = (code: number | null): void => reject(new Error(`Effect Cluster exited with code ${code}`));
    child.once('exit', died);
    child.once('message', (message) => {
      child.off('exit', died);
      resolve(message as Message);
    });
  });
}
