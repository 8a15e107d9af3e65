// What the parts of one membership see and do, set and recorded by the test. The process itself is `p0`.

import { clusterConfig } from '../../../cluster/config.js';
import { viewNumber, type ProcessId, type ViewNumber } from '../../../cluster/ids/ids.js';
import { GoneProcesses } from '../../../cluster/membership/gone-processes.js';
import type {
  Departed,
  MemberStore,
  StoredLease,
  ViewNumbers,
} from '../../../cluster/membership/member-store.js';
import type { View } from '../../../cluster/membership/membership.js';
import { Observer } from '../../../cluster/membership/observer.js';
import type { PeerProbe } from '../../../cluster/membership/peer-probe.js';
import type { MembershipEvent, Perspective } from '../../../cluster/membership/perspective.js';
import type { Opposition } from '../../../cluster/membership/quorum.js';
import { emptyView, makeView } from '../../../cluster/membership/view.js';
import { MemoryMembers } from '../../../cluster/simulation/member-store.js';
import { SeededRandom, VirtualTime } from '../../../cluster/simulation/virtual-time.js';
import { sleep } from '../../../cluster/time/time.js';
import { member, stored } from '../../contracts/member-store.js';

export function viewOf(number: number, ...names: string[]): View {
  return makeView(viewNumber(number), names.map(member));
}

export class TestPerspective implements Perspective {
  readonly time = new VirtualTime();
  readonly random = new SeededRandom(1);
  readonly config = clusterConfig();
  readonly self = member('p0');
  readonly observer = new Observer(this.config.memberStoreAwayMs, () => this.time.monotonicMs());
  readonly gone = new GoneProcesses(this.time, this.config, this.observer);
  readonly events: MembershipEvent[] = [];
  readonly published: View[] = [];
  /** The processes whose leases it removed. */
  readonly removed: ProcessId[] = [];
  /** The view that this process follows, and the one in the store. */
  held: View = emptyView;
  inStore: View | undefined;
  opposed: Opposition = { processes: [], newest: viewNumber(0) };
  readonly refused = new Set<ProcessId>();
  /** The highest seized number in the durable store, and what this process knows of it. */
  stored: ViewNumber = viewNumber(0);
  known: ViewNumber = viewNumber(0);
  /** The number that the durable store gave last, and how long it takes. */
  lastNumber = 10;
  numberMs = 0;
  /** Age of the generation by the store's clock. */
  generationAgeMs = 0;
  #renewals = 0;

  readonly store: MemberStore = {
    ...new MemoryMembers(this.time, this.random).client(),
    publish: (view) => {
      this.published.push(view);
      return Promise.resolve(true);
    },
    remove: ({ process }) => {
      this.removed.push(process);
      return Promise.resolve({ outcome: 'removed', silentMs: 0 });
    },
  };

  readonly numbers: ViewNumbers = {
    next: () => this.#nextNumber(),
    seize: async () => {
      this.stored = await this.#nextNumber();
      return this.stored;
    },
    seized: () => Promise.resolve(this.stored),
    newestGeneration: () => Promise.resolve(undefined),
    nameGeneration: () => Promise.resolve(undefined),
  };

  readonly probe: PeerProbe = {
    ask: () => Promise.resolve({ outcome: 'refused' }),
    answerWith() {},
  };

  async #nextNumber(): Promise<ViewNumber> {
    if (this.numberMs > 0) await sleep(this.time, this.numberMs);
    this.lastNumber += 1;
    return viewNumber(this.lastNumber);
  }

  follow(view: View): void {
    this.held = view;
    this.inStore = view;
  }

  /** A poll shows that these have renewed, and these leases as they are; all others have none. */
  saw(renewing: readonly string[], others: readonly StoredLease[] = [], departed: readonly Departed[] = []) {
    this.#renewals += 1;
    const leases = [...renewing.map((name) => stored(name, this.#renewals)), ...others];
    const nowMs = this.time.monotonicMs();
    this.observer.observe(
      { generation: 'one', generationAgeMs: this.generationAgeMs, leases, departed, view: this.inStore },
      { startedMs: nowMs, receivedMs: nowMs, isCompared: true },
    );
  }

  view(): View {
    return this.held;
  }

  lastViewWith(): View | undefined {
    return this.held;
  }

  storeView(): View | undefined {
    return this.inStore;
  }

  mayChange(): boolean {
    return true;
  }

  isBound(): boolean {
    return false;
  }

  opposition(): Opposition {
    return this.opposed;
  }

  seized(): ViewNumber {
    return this.known;
  }

  refusedMs(process: ProcessId): number | undefined {
    return this.refused.has(process) ? 100 : undefined;
  }

  adopt(view: View): void {
    this.follow(view);
  }

  poll(): Promise<boolean> {
    return Promise.resolve(true);
  }

  emit(event: MembershipEvent): void {
    this.events.push(event);
  }
}
