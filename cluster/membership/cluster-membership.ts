import { ClusterError } from '../errors.js';
import type { ProcessId } from '../ids/ids.js';
import { sleep, type Timer } from '../time/time.js';
import { answerWithin } from '../time/within.js';
import { Electorate } from './electorate.js';
import { GoneProcesses } from './gone-processes.js';
import { Leavers } from './leavers.js';
import { instantOf, LeaseClock } from './lease-clock.js';
import type { Departed, Snapshot } from './member-store.js';
import type { Member, Membership, Standing, View, ViewName } from './membership.js';
import { Observer, type Poll } from './observer.js';
import { confirmedByPeers } from './peer-confirmation.js';
import type { ProbeReply, ProbeRequest } from './peer-probe.js';
import { waitMs, type MembershipEvent, type MembershipParts, type Perspective } from './perspective.js';
import { Promises } from './promises.js';
import { Quorum } from './quorum.js';
import { Removal } from './removal.js';
import { Seizures } from './seizures.js';
import { traceGone } from '../trace/gone-event.js';
import { StoreContact, tickMs, type ContactHost } from './store-contact.js';
import { emptyView, includes, sameView } from './view.js';
import { ViewMaker } from './view-maker.js';

/**
 * Membership over a store that may forget, lag or be unreachable (protocol 2). Normally each process renews its lease
 * every second. Its right to act counts from the start of the last confirmed renewal; a process id is never used again.
 * A process dies: peers whose connections it refused remove its lease after a short silence, else after lease and margin
 * (`removal.ts`). The next view is made (`view-maker.ts`), unless unknown processes could be going on (`quorum.ts`).
 * The store is unreachable: peers confirm each other (`peer-confirmation.ts`). It lost its data: live processes restore
 * leases and view. Not all use one store: `generation-check.ts`. That two activations never exist at once is not
 * guaranteed: the fence decides which of them may write.
 */
export class ClusterMembership implements Membership {
  readonly self: Member;
  readonly leavers: Leavers;
  readonly #parts: MembershipParts;
  readonly #lease: LeaseClock;
  readonly #contact: StoreContact;
  readonly #observer: Observer;
  readonly #gone: GoneProcesses;
  readonly #quorum = new Quorum();
  readonly #electorate: Electorate;
  readonly #promises: Promises;
  readonly #removal: Removal;
  readonly #maker: ViewMaker;
  readonly #seizures: Seizures;
  /** Processes that left a view and are not yet surely gone. */
  readonly #leftView = new Set<ProcessId>();
  readonly #viewListeners = new Set<(view: View) => void>();
  readonly #fencedListeners = new Set<() => void>();
  #standing: Standing = 'joining';
  #view: View = emptyView;
  #storeView: View | undefined;
  #leaving = false;
  #ticker: Timer | undefined;
  #asking = false;
  #askAtMs = 0;

  constructor(parts: MembershipParts) {
    this.#parts = parts;
    this.self = parts.self;
    this.#observer = new Observer(parts.config.memberStoreAwayMs, () => parts.time.monotonicMs());
    this.leavers = new Leavers(this.#observer, () => this.#view);
    this.#gone = new GoneProcesses(parts.time, parts.config, this.#observer);
    this.#lease = new LeaseClock(parts.time);
    this.#contact = new StoreContact(
      parts.store,
      parts.numbers,
      parts.time,
      parts.config,
      this.#contactHost(),
    );
    this.#promises = new Promises(parts.time);
    const perspective = this.#perspective();
    const isFree = (): boolean => !this.#contact.isAway() && this.#promises.remainingMs() === 0;
    this.#electorate = new Electorate(perspective, this.#quorum, isFree);
    this.#removal = new Removal(perspective);
    this.#maker = new ViewMaker(perspective);
    this.#seizures = new Seizures(perspective, {
      answeredMs: (process) => this.#removal.answeredMs(process),
      uncertain: () => this.#electorate.doubtAboutAwaited(this.#seizures),
    });
    traceGone(parts, this.#gone, this.#observer, this.#seizures);
    parts.probe.answerWith((request) => this.#answer(request));
  }

  view(): View {
    return this.#view;
  }

  standing(): Standing {
    return this.#standing;
  }

  onView(listener: (view: View) => void): () => void {
    this.#viewListeners.add(listener);
    return () => this.#viewListeners.delete(listener);
  }

  onFenced(listener: () => void): () => void {
    this.#fencedListeners.add(listener);
    return () => this.#fencedListeners.delete(listener);
  }

  mayAdmit(): boolean {
    if (this.#leaving || !this.mayAct()) return false;
    if (!this.#isWorker()) return true;
    return this.#isMember() && this.#lease.ageMs() < this.#parts.config.leaseAdmitMs;
  }

  /** After a long stop this runs before any timer, so a lost lease must be detected here. */
  mayAct(): boolean {
    if (this.#isOver()) return false;
    if (!this.#isWorker() || this.#standing === 'joining') return true;
    if (this.#lease.ageMs() < this.#parts.config.leaseActMs) return true;
    this.#fence('no renewal was confirmed in time');
    return false;
  }

  leaseAgeMs(): number {
    return this.#lease.ageMs();
  }

  surelyGone(process: ProcessId): boolean {
    if (this.#gone.has(process)) {
      this.#leftView.delete(process);
      return true;
    }
    if (process === this.self.process || includes(this.#view, process)) return false;
    if (!this.#observer.hasDeparted(process) && !this.#electorate.isSilentForGood(process, this.#seizures))
      return false;
    this.#gone.add(process, this.#observer.hasDeparted(process) ? 'departed' : 'silence');
    this.#leftView.delete(process);
    this.#removal.surelyGone(process);
    return true;
  }

  async whenSurelyGone(process: ProcessId, signal: AbortSignal): Promise<void> {
    if (!this.surelyGone(process)) await this.#gone.wait(process, signal);
  }

  reportRefused(process: ProcessId): void {
    if (!this.#isOver()) this.#removal.reportRefused(process);
  }

  reportExited(process: ProcessId): void {
    if (!this.#isOver() && process !== this.self.process) this.#removal.reportExited(process);
  }

  async catchUp(name: ViewName, signal: AbortSignal): Promise<void> {
    while (this.#view.number < name.number) {
      signal.throwIfAborted();
      if (this.#isOver()) throw new ClusterError('not_serving', 'this process is no longer a member');
      await this.#contact.poll();
      if (this.#view.number < name.number)
        await sleep(this.#parts.time, this.#parts.config.movedRetryMs, signal);
    }
  }

  async start(signal: AbortSignal): Promise<void> {
    const { time, config } = this.#parts;
    const startedMs = time.monotonicMs();
    this.#contact.start();
    this.#tick();
    while (this.#standing === 'joining' && !(this.#view.number > 0 && !this.#isWorker())) {
      if (signal.aborted) {
        this.#stop();
        signal.throwIfAborted();
      }
      if (
        this.#contact.ageMs() === Number.POSITIVE_INFINITY &&
        time.monotonicMs() - startedMs > config.memberStoreStartMs
      ) {
        this.#stop();
        throw new ClusterError('membership_unavailable', 'the member store (Redis) cannot be reached', {
          cause: this.#contact.lastError,
        });
      }
      await sleep(time, 20);
    }
    if (this.#standing === 'fenced')
      throw new ClusterError('not_serving', 'this process was removed while it joined');
    if (!this.#isWorker() && this.#standing === 'joining') this.#standing = 'member';
  }

  async beginLeave(): Promise<void> {
    const { time, config } = this.#parts;
    if (this.#leaving || this.#isOver()) return;
    this.#leaving = true;
    // Others must read it from the store. If the store is unreachable, they notice when this process ends.
    const untilMs = time.monotonicMs() + waitMs(config);
    await this.#contact.renew();
    // Alone, no other process could make a view without this one.
    if (!this.#view.members.some(({ process }) => process !== this.self.process)) return;
    while (includes(this.#view, this.self.process) && !this.#isOver() && time.monotonicMs() < untilMs) {
      // The last worker leaves a view that no other worker can change.
      if (!this.#maker.hasOthers()) return;
      await sleep(time, 20);
    }
  }

  async leave(): Promise<void> {
    const { store, time, config } = this.#parts;
    if (this.#standing === 'left') return;
    this.#leaving = true;
    this.#stop();
    if (this.#standing !== 'fenced') this.#standing = 'left';
    try {
      const release = store.release(this.#departing());
      await answerWithin(time, config.memberStoreTimeoutMs, 'releasing the lease', release);
    } catch (error) {
      // The lease then expires on the observers' clocks.
      this.#emit({ event: 'store_failed', error });
    }
  }

  /** One loop for all periodic work; each step checks whether it is due. */
  readonly #tick = (): void => {
    if (this.#isOver()) return;
    const { time, config } = this.#parts;
    const isUrgent = this.#removal.hasSuspects;
    this.#ticker = time.after(tickMs(config, isUrgent), this.#tick);
    if (!this.mayAct()) return;
    this.#contact.tick(isUrgent);
    if (this.#contact.isAway() && time.monotonicMs() >= this.#askAtMs) void this.#askPeers();
  };

  #contactHost(): ContactHost {
    return {
      lease: (renewals) => ({
        member: this.self,
        renewals,
        promisedMs: this.#promises.statedMs(this.#isMember() && this.#contact.isAway()),
        holds: this.#view.number,
        leaving: this.#leaving,
      }),
      renewed: (start) => {
        this.#lease.extend(start);
        this.#parts.trace?.record({ event: 'renew', generation: this.#contact.generation, from: start });
        if (this.#standing === 'confirmed_by_peers') this.#standing = 'member';
      },
      // A process without slots holds nothing that another process could have taken over, so it joins again.
      refused: () => {
        if (this.#isWorker()) this.#fence('other processes removed the lease');
        else this.#contact.forgetGeneration();
      },
      observe: (snapshot, poll) => this.#observe(snapshot, poll),
      failed: (error, isFirst) => this.#emit({ event: 'store_failed', error, isFirst }),
      back: (awayMs) => this.#emit({ event: 'store_back', awayMs }),
      outdated: (generation) => this.#emit({ event: 'outdated_store', generation }),
      mayFollow: () => this.#standing === 'joining' || this.mayAct(),
      mayName: () => this.#isWorker(),
      mostRenew: () => this.#electorate.mostRenew(this.#view),
      isOver: () => this.#isOver(),
    };
  }

  #observe(snapshot: Snapshot, poll: Poll): void {
    const observed = this.#observer.observe(snapshot, poll);
    if (observed === undefined || this.#isOver()) return;
    if (observed.newGeneration) this.#emit({ event: 'new_generation', generation: snapshot.generation });
    const inStore = snapshot.view;
    this.#storeView = inStore;
    if (inStore !== undefined && inStore.number >= this.#view.number) this.#adopt(inStore);
    else if (this.#view.number > 0 && this.#isWorker())
      void this.#contact.restore(this.#view, snapshot.generation);
    if (this.#isOver()) return;
    this.#removal.consider();
    this.#seizures.consider();
    this.#maker.consider();
    for (const process of [...this.#gone.awaited(), ...this.#leftView]) this.surelyGone(process);
  }

  #adopt(view: View): void {
    if (view.number === this.#view.number && view.hash !== this.#view.hash && view.number > 0) {
      this.#emit({ event: 'void_view', number: view.number });
    }
    if (view.number <= this.#view.number || this.#isOver()) return;
    // The next poll tries again.
    if (this.#promises.bind([this.#view], view)) return;
    for (const { process } of this.#view.members) if (!includes(view, process)) this.#leftView.add(process);
    this.#view = view;
    this.#quorum.remember(view);
    const included = includes(view, this.self.process);
    if (included && this.#standing === 'joining') this.#standing = 'member';
    if (!included && this.#isMember() && this.#isWorker() && !this.#leaving) {
      this.#fence('a new view excludes this process');
      return;
    }
    this.#emit({ event: 'view', view });
    for (const listener of this.#viewListeners) listener(view);
  }

  async #askPeers(): Promise<void> {
    if (this.#asking || !this.#isWorker() || !this.#isMember()) return;
    const { time, config } = this.#parts;
    this.#asking = true;
    this.#askAtMs = time.monotonicMs() + config.confirmRetryMs;
    const start = instantOf(time);
    const view = this.#view;
    try {
      const confirmed = await confirmedByPeers(this.#parts, view, this.#contact.generation);
      // A view adopted meanwhile needs the confirmation of other peers.
      if (this.#isOver() || !sameView(view, this.#view)) return;
      this.#emit({ event: confirmed ? 'confirmed' : 'not_confirmed', view: view.number });
      if (!confirmed || !this.mayAct()) return;
      this.#lease.extend(start);
      this.#parts.trace?.record({ event: 'confirm', view: view.number, from: start });
      this.#askAtMs = start.monotonicMs + config.leaseRenewMs;
      if (this.#contact.isAway()) this.#standing = 'confirmed_by_peers';
    } finally {
      this.#asking = false;
    }
  }

  #answer(request: ProbeRequest): ProbeReply {
    if (request.exited !== undefined && request.exited !== this.self.process)
      this.#gone.add(request.exited, 'reported');
    const confirmed = request.confirm && this.#mayPromise(request);
    if (confirmed) this.#promises.give(request.from, this.#parts.config.leaseMs);
    const reachesMemberStore = !this.#contact.isAway();
    return { from: this.self.process, confirmed, reachesMemberStore, view: this.#view };
  }

  /** Only a process that cannot reach the store itself may promise (protocol 2.5). */
  #mayPromise(request: ProbeRequest): boolean {
    return (
      this.#contact.isAway() &&
      this.#isMember() &&
      includes(this.#view, this.self.process) &&
      request.from !== this.self.process &&
      sameView(request.view, this.#view) &&
      this.mayAct()
    );
  }

  #fence(reason: string): void {
    if (this.#isOver()) return;
    this.#standing = 'fenced';
    this.#stop();
    this.#emit({ event: 'fenced', reason });
    for (const listener of this.#fencedListeners) listener();
    // Peers need not wait for a lease that its holder knows to be lost. If this fails, the lease expires.
    this.#parts.store
      .release(this.#departing())
      .catch((error: unknown) => this.#emit({ event: 'store_failed', error }));
  }

  #departing(): Departed {
    return { process: this.self.process, promisedMs: this.#promises.remainingMs() };
  }

  #stop(): void {
    this.#ticker?.cancel();
    this.#contact.stop();
    this.#maker.stop();
  }

  #isOver(): boolean {
    return this.#standing === 'fenced' || this.#standing === 'left';
  }

  #isMember(): boolean {
    return this.#standing === 'member' || this.#standing === 'confirmed_by_peers';
  }

  #isWorker(): boolean {
    return this.self.roles.includes('worker');
  }

  #emit(event: MembershipEvent): void {
    this.leavers.note(event);
    this.#parts.report?.(event);
  }

  #perspective(): Perspective {
    return {
      ...this.#parts,
      observer: this.#observer,
      gone: this.#gone,
      view: () => this.#view,
      storeView: () => this.#storeView,
      lastViewWith: (process) => this.#quorum.lastWith(process),
      mayChange: () =>
        this.#isWorker() && !this.#leaving && !this.#isOver() && !this.#contact.isAway() && this.mayAct(),
      isBound: (before, after) => this.#promises.bind([before, this.#view], after),
      opposition: () => this.#electorate.opposition(this.#seizures),
      seized: () => this.#seizures.highest,
      refusedMs: (process) => this.#removal.refusedMs(process),
      adopt: (view) => {
        this.#storeView = view;
        this.#adopt(view);
      },
      poll: () => this.#contact.poll(),
      emit: (event) => this.#emit(event),
    };
  }
}
