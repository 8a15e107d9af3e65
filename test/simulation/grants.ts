import { durableActor } from '../../cluster/activation/kind.js';
import { ActorError, ClusterError } from '../../cluster/errors.js';
import { addressText } from '../../cluster/ids/ids.js';
import { CounterServiceDefinition } from '../../generated/troupe/examples/v1/counter.js';
import type { ActorParts } from './actors.js';

const block = 2;
export const grantsKind = 'sim.Grants';

/** Checks that grants never exceed the bound, whichever processes died. */
export class CheckedGrants {
  readonly bound: number;
  readonly #given = new Map<string, number>();
  readonly #violations: string[];
  /** The store lost blocks that it had acknowledged: the bound can then not be kept (protocol 1.7). */
  storeForgot = false;

  constructor(violations: string[], bound: number) {
    this.#violations = violations;
    this.bound = bound;
  }

  given(actor: string): void {
    const given = (this.#given.get(actor) ?? 0) + 1;
    this.#given.set(actor, given);
    if (given > this.bound && !this.storeForgot) {
      this.#violations.push(`${given} were granted of ${this.bound}`);
    }
  }

  get total(): number {
    return [...this.#given.values()].reduce((sum, given) => sum + given, 0);
  }
}

/** Like a quota (protocol 8.1): grants one by one from blocks committed in advance under its epoch. */
export function grants(parts: ActorParts, checked: CheckedGrants, isEager: boolean) {
  return durableActor({
    service: CounterServiceDefinition,
    name: grantsKind,
    methods: { where: { idempotent: true, lane: 'control' } },
    commits: parts.commits,
    load: (address) => ({ counter: addressText(address) }),
    create: (activation) => {
      const actor = addressText(activation.address);
      let spent = activation.loaded.sum;
      let left = 0;
      const take = async (): Promise<void> => {
        if (spent + block > checked.bound) throw new ActorError('full', 'the bound of grants is reached');
        spent += block;
        left = block;
        const requestId = `${activation.epoch}-${spent}`;
        const written = activation.write({ counter: actor, requestId, sum: spent });
        if (isEager) {
          written.catch(() => parts.unseen());
          return;
        }
        const committed = await written;
        if (committed.outcome === 'committed' && committed.result.sum === spent) return;
        activation.end('failed');
        throw new ClusterError(
          'outcome_unknown',
          'the outcome of the block is unknown; the actor must be loaded again',
        );
      };
      return {
        add: async () => {
          if (left === 0) await take();
          left -= 1;
          checked.given(actor);
          return { sum: spent - left };
        },
        read: () => ({ sum: spent }),
        where: () => ({ process: activation.process }),
        async *count() {},
      };
    },
  });
}
