import { durableActor, type DurableActivation } from '../../cluster/activation/kind.js';
import type { Call } from '../../cluster/activation/call.js';
import type { ClusterConfig } from '../../cluster/config.js';
import { ActorError, ClusterError } from '../../cluster/errors.js';
import type {
  CounterCommits,
  CounterResult,
  CounterState,
  CounterWrite,
} from '../../cluster/example/counter.js';
import { actorKind, addressText } from '../../cluster/ids/ids.js';
import { sleep, type Time } from '../../cluster/time/time.js';
import { CounterServiceDefinition } from '../../generated/troupe/examples/v1/counter.js';
import type { Effect } from './checkers.js';

export interface ActorParts {
  readonly commits: CounterCommits;
  readonly time: Time;
  readonly config: ClusterConfig;
  readonly bound: number;
  readonly ackBeforeCommit: boolean;
  /** A turn whose commit has an unknown result runs again in the same activation. */
  readonly repeatsTurns: boolean;
  effect(effect: Effect): void;
  /** A write failed without a caller to report it to: the planted bug answered before the commit. */
  unseen(): void;
}

/** The address of a ledger as the tables store it. */
export function ledgerText(key: string): string {
  return addressText({ kind: actorKind('sim.Ledger'), group: 'acme', key });
}

type SimulatedActivation = DurableActivation<CounterState, CounterWrite, CounterResult>;

const rules = {
  add: { idempotent: true },
  read: { idempotent: true },
  where: { idempotent: true, lane: 'control' },
} as const;

/** Adds under the fence. The ledger with the key `bounded` never exceeds its bound. */
export function ledger(parts: ActorParts) {
  return durableActor({
    service: CounterServiceDefinition,
    name: 'sim.Ledger',
    methods: rules,
    commits: parts.commits,
    load: (address) => ({ counter: addressText(address) }),
    create: (activation) => {
      let { sum } = activation.loaded;
      const isBounded = activation.address.key === 'bounded';
      return {
        add: async ({ amount }: { amount: number }, call: Call) => {
          if (isBounded && sum + amount > parts.bound)
            throw new ActorError('full', 'the bound of this ledger is reached');
          const next = sum + amount;
          if (parts.ackBeforeCommit) {
            sum = next;
            add(activation, next, call).catch(() => parts.unseen());
            return { sum: next };
          }
          const result = await add(activation, next, call);
          if (result.sum === next) sum = next;
          return { sum: result.sum };
        },
        read: () => ({ sum }),
        where: () => ({ process: activation.process }),
        async *count() {},
      };
    },
  });
}

/** Long turns with outside effects: they stamp their row and check the lease before each effect. */
export function worker(parts: ActorParts) {
  return durableActor({
    service: CounterServiceDefinition,
    name: 'sim.Worker',
    methods: rules,
    commits: parts.commits,
    load: (address) => ({ counter: addressText(address) }),
    create: (activation) => {
      let { sum } = activation.loaded;
      const actor = addressText(activation.address);
      const { process, epoch } = activation;
      return {
        add: async ({ amount }: { amount: number }, call: Call) => {
          await activation.stamp({ set: 'busy', process, forMs: 12_000 });
          await activation.effectsClear(call.signal);
          const act = async (): Promise<void> => {
            for (let step = 0; step < 10; step += 1) {
              await sleep(parts.time, 250);
              if (!activation.mayAct()) throw new ClusterError('fenced', 'the process may no longer act');
              parts.effect({ actor, process, epoch, step: `${call.requestId} ${step}` });
            }
          };
          await act();
          const next = sum + amount;
          const result = await add(activation, next, call, {
            free: true,
            ...(parts.repeatsTurns ? { onLost: act } : {}),
          });
          if (result.sum === next) sum = next;
          return { sum: result.sum };
        },
        read: () => ({ sum }),
        where: () => ({ process }),
        async *count() {},
      };
    },
  });
}

async function add(
  activation: SimulatedActivation,
  sum: number,
  call: Call,
  { free = false, onLost }: { readonly free?: boolean; readonly onLost?: () => Promise<void> } = {},
): Promise<CounterResult> {
  const write = { counter: addressText(activation.address), requestId: call.requestId, sum };
  const committed = await activation.write(write, free ? { stamp: { set: 'free' } } : {});
  if (committed.outcome === 'committed') return committed.result;
  await onLost?.();
  // Only a fresh load shows whether this request id was new.
  activation.end('failed');
  throw new ClusterError('outcome_unknown', 'the addition was committed by this call or an earlier one');
}
