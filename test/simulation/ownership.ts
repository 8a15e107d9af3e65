import type { ProcessId } from '../../cluster/ids/ids.js';
import type { ClusterMembership } from '../../cluster/membership/cluster-membership.js';
import type { SimulatedHost } from '../../cluster/simulation/host.js';

interface Watched {
  readonly host: SimulatedHost;
  readonly membership: ClusterMembership;
}

/**
 * Checks the rules on which the order of outside effects rests, at the moment at which they are used: a process that
 * another holds for surely gone may not act, and a view number names one set of members.
 */
export class CheckedOwnership {
  readonly #violations: string[];
  readonly #now: () => number;
  readonly #actMs: number;
  readonly #processes = new Map<ProcessId, Watched>();
  readonly #hashes = new Map<number, string>();
  readonly #excused = new Set<ProcessId>();
  #storeForgot = false;

  constructor(violations: string[], now: () => number, actMs: number) {
    this.#violations = violations;
    this.#now = now;
    this.#actMs = actMs;
  }

  /** Numbers and epochs are issued again. */
  forget(): void {
    this.#storeForgot = true;
  }

  /** Both clocks of its machine stand still: it cannot know that its right to act has run out. */
  excuse(process: ProcessId): void {
    this.#excused.add(process);
  }

  watch(host: SimulatedHost, membership: ClusterMembership): void {
    this.#processes.set(membership.self.process, { host, membership });
    const surelyGone = membership.surelyGone.bind(membership);
    membership.surelyGone = (process) => {
      const isGone = surelyGone(process);
      if (isGone && this.#mayAct(process)) {
        this.#found(`${host.name} holds ${process} for surely gone, which may act`);
      }
      return isGone;
    };
    membership.onView(({ number, hash }) => {
      const known = this.#hashes.get(number);
      this.#hashes.set(number, hash);
      if (known !== undefined && known !== hash) this.#found(`view ${number} names two sets of members`);
    });
  }

  #mayAct(process: ProcessId): boolean {
    const watched = this.#processes.get(process);
    if (watched === undefined || watched.host.isDead || this.#excused.has(process)) return false;
    const { membership } = watched;
    const isMember = membership.standing() === 'member' || membership.standing() === 'confirmed_by_peers';
    return isMember && membership.leaseAgeMs() < this.#actMs;
  }

  #found(violation: string): void {
    if (!this.#storeForgot) this.#violations.push(`${this.#now()}: ${violation}`);
  }
}
