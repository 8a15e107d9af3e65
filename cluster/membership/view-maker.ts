import { viewNumber, type ProcessId, type ViewNumber } from '../ids/ids.js';
import type { Timer } from '../time/time.js';
import { answerWithin } from '../time/within.js';
import type { Member, View } from './membership.js';
import { waitMs, type Perspective } from './perspective.js';
import { emptyView, makeView } from './view.js';

interface Plan {
  readonly sinceMs: number;
  readonly wanted: string;
  readonly timer: Timer;
}

/**
 * Makes the next view. Every worker with a lease may: the first in order does it after gathering the changes of a
 * short time, the next ones only if no view appeared. The store accepts a view only on top of the one that it was
 * made from, so two concurrent views cost a number and nothing else.
 */
export class ViewMaker {
  readonly #context: Perspective;
  #plan: Plan | undefined;
  #making = false;
  #prepared: { readonly number: ViewNumber; readonly takenMs: number } | undefined;
  #preparing = false;
  #prepareAtMs = 0;
  /** The number that was taken to find out whether there had ever been a view. */
  #firstNumber: ViewNumber | undefined;

  constructor(context: Perspective) {
    this.#context = context;
  }

  /** Whether another process could make the next view. */
  hasOthers(): boolean {
    const { observer, self, config } = this.#context;
    const others = observer.leases().filter(({ member }) => member.process !== self.process);
    return others.some(
      ({ member, leaving }) =>
        member.roles.includes('worker') && !leaving && observer.silentMs(member.process) < config.leaseMs,
    );
  }

  /** Runs after each poll of the store. */
  consider(): void {
    const { time, config } = this.#context;
    const wanted = this.#context.mayChange() ? this.#wanted() : undefined;
    if (!this.#preparing) void this.#prepare();
    if (wanted === undefined) {
      this.#cancel();
      return;
    }
    const names = wanted.map((member) => member.process).join();
    if (this.#making || this.#plan?.wanted === names) return;
    const sinceMs = this.#plan?.sinceMs ?? time.monotonicMs();
    this.#cancel();
    const latestMs = sinceMs + config.viewCoalesceMaxMs - time.monotonicMs();
    const gatherMs = config.viewCoalesceMinMs - this.#gatheredMs(wanted);
    const delayMs = Math.max(0, Math.min(gatherMs, latestMs)) + this.#rank() * config.viewRankDelayMs;
    this.#plan = { sinceMs, wanted: names, timer: time.after(delayMs, () => void this.#make()) };
  }

  stop(): void {
    this.#cancel();
  }

  #cancel(): void {
    this.#plan?.timer.cancel();
    this.#plan = undefined;
  }

  /** The view to build on: the one in the store; undefined while another must be restored first. */
  #base(): View | undefined {
    const inStore = this.#context.storeView();
    const own = this.#context.view();
    if (inStore === undefined) return own.number === 0 ? emptyView : undefined;
    return inStore.number < own.number ? undefined : inStore;
  }

  /** The members that the next view should have; undefined if they are those of the current view. */
  #wanted(): Member[] | undefined {
    const base = this.#base();
    if (base === undefined) return undefined;
    const { gone, observer, config } = this.#context;
    const staying = base.members.filter(({ process }) => {
      const isSilent = observer.silentMs(process) >= waitMs(config);
      const isLeaving = observer.lease(process)?.leaving === true || observer.hasDeparted(process);
      return !isLeaving && observer.vanishedMs(process) === undefined && !isSilent;
    });
    const known = new Set(base.members.map((member) => member.process));
    const joining = observer
      .leases()
      .filter((lease) => !lease.leaving && !known.has(lease.member.process))
      .map((lease) => lease.member)
      .filter(({ process }) => observer.silentMs(process) < waitMs(config))
      .filter(({ process }) => !gone.has(process) && !observer.hasDeparted(process));
    const isSame = joining.length === 0 && staying.length === base.members.length;
    // Each poll comes here: sorting and hashing the names of a thousand members takes longer than the rest of it.
    const next = isSame ? base : makeView(base.number, [...staying, ...joining]);
    const own = this.#context.view();
    // Equal numbers with unequal hashes are both void: the same members need a new number.
    const isVoid = own.number === base.number && own.hash !== base.hash;
    return next.hash === base.hash && !isVoid && !this.#isOutdated(base) ? undefined : [...next.members];
  }

  /**
   * A higher number was seized, and the processes declared dead came back. As long as the view keeps its number, none
   * of its members can go on without the store.
   */
  #isOutdated(base: View): boolean {
    const { observer, config } = this.#context;
    if (base.number === 0 || this.#context.seized() <= base.number) return false;
    return base.members.every(
      ({ process }) =>
        observer.lease(process) !== undefined && observer.silentMs(process) < config.memberStoreAwayMs,
    );
  }

  /** How long the change has been pending: processes that refuse connections were given up that long ago. */
  #gatheredMs(wanted: readonly Member[]): number {
    const staying = new Set(wanted.map((member) => member.process));
    const members = this.#base()?.members ?? [];
    if (staying.size >= members.length) return 0;
    const leaving = members.filter((member) => !staying.has(member.process));
    return leaving.reduce(
      (least, member) => Math.min(least, this.#context.refusedMs(member.process) ?? 0),
      Number.POSITIVE_INFINITY,
    );
  }

  /** Rank among the workers that could make the view; members of the current view come first. */
  #rank(): number {
    const { observer, config, self } = this.#context;
    const members = new Set(this.#context.view().members.map((member) => member.process));
    const order = (process: ProcessId): string => `${members.has(process) ? 0 : 1}${process}`;
    const mine = order(self.process);
    const before = observer
      .leases()
      .filter(
        ({ member, leaving }) =>
          member.roles.includes('worker') && !leaving && member.process !== self.process,
      )
      .filter(({ member }) => observer.silentMs(member.process) <= config.earlyRemovalSilenceMs)
      .filter(({ member }) => order(member.process) < mine);
    return Math.min(before.length, 5);
  }

  async #make(): Promise<void> {
    this.#plan = undefined;
    if (this.#making) return;
    this.#making = true;
    try {
      await this.#makeOnce();
    } catch (error) {
      // The next poll shows the outcome and plans again.
      this.#context.emit({ event: 'store_failed', error });
    } finally {
      this.#making = false;
    }
  }

  async #makeOnce(): Promise<void> {
    const { store, observer, time, config } = this.#context;
    if (!(await this.#context.poll())) return;
    const base = this.#base();
    const wanted = this.#context.mayChange() ? this.#wanted() : undefined;
    const generation = observer.generation;
    if (base === undefined || wanted === undefined || generation === undefined) return;
    if (!(await this.#isSettled(base))) return;
    const { processes } = this.#context.opposition();
    if (processes.length > 0) {
      this.#context.emit({ event: 'opposed', by: processes });
      return;
    }
    const number = await this.#nextNumber(base);
    const view = makeView(number, wanted);
    // PostgreSQL may have taken its time: what allowed the view may no longer hold.
    if (!this.#context.mayChange() || this.#context.opposition().processes.length > 0) return;
    if (this.#context.isBound(base, view)) return;
    const publication = store.publish(view, { generation, follows: base });
    if (await answerWithin(time, config.memberStoreTimeoutMs, 'publishing a view', publication)) {
      this.#context.adopt(view);
    }
  }

  /**
   * A process that refuses peers will soon be missing from the view. The next number is taken during its required
   * silence: on a busy machine the durable store may take as long as all other steps together.
   */
  async #prepare(): Promise<void> {
    const base = this.#base();
    if (base === undefined || !this.#context.mayChange()) return;
    if (!base.members.some(({ process }) => this.#context.refusedMs(process) !== undefined)) return;
    const { time, config } = this.#context;
    if (this.#preparedFor(base) !== undefined || time.monotonicMs() < this.#prepareAtMs) return;
    this.#prepareAtMs = time.monotonicMs() + config.leaseRenewMs;
    this.#preparing = true;
    try {
      const number = await this.#takeNumber(base);
      this.#prepared = { number, takenMs: time.monotonicMs() };
    } catch (error) {
      // The number is then taken when the view is made, possibly by another process.
      this.#context.emit({ event: 'store_failed', error });
    } finally {
      this.#preparing = false;
    }
  }

  /** An old number is discarded: a store that failed over may have issued it again. */
  #preparedFor(base: View): ViewNumber | undefined {
    const prepared = this.#prepared;
    if (prepared === undefined || prepared.number <= base.number) return undefined;
    const ageMs = this.#context.time.monotonicMs() - prepared.takenMs;
    return ageMs < this.#context.config.leaseMs ? prepared.number : undefined;
  }

  #nextNumber(base: View): Promise<ViewNumber> {
    if (base.number === 0 && this.#firstNumber === 1) return Promise.resolve(this.#firstNumber);
    const prepared = this.#preparedFor(base);
    this.#prepared = undefined;
    return prepared === undefined ? this.#takeNumber(base) : Promise.resolve(prepared);
  }

  #takeNumber(base: View): Promise<ViewNumber> {
    const { numbers, time, config } = this.#context;
    return answerWithin(time, config.statementTimeoutMs, 'the next view number', numbers.next(base.number));
  }

  /**
   * Under a new generation live processes register again, and nothing changes for lease and margin: a missing process
   * may be alive. It settles sooner if no process is missing, if no view was ever made, or, for a newcomer to an old
   * generation, if each missing process had a lease in it that was removed.
   */
  async #isSettled(base: View): Promise<boolean> {
    const { observer, numbers, config, time } = this.#context;
    if (observer.generationAgeMs >= waitMs(config)) return true;
    if (base.number > 0) {
      const isOld = observer.storedGenerationAgeMs >= waitMs(config);
      return base.members.every(({ process }) => {
        const lease = isOld ? observer.lastLease(process) : observer.lease(process);
        return observer.hasDeparted(process) || (lease !== undefined && lease.holds <= base.number);
      });
    }
    if (this.#firstNumber === undefined) {
      const first = numbers.next(viewNumber(0));
      this.#firstNumber = await answerWithin(time, config.statementTimeoutMs, 'the first view number', first);
    }
    return this.#firstNumber === 1;
  }
}
