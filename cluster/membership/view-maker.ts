import { viewNumber, type ProcessId, type ViewNumber } from '../ids/ids.js';
import type { Timer } from '../time/time.js';
import { within } from '../time/within.js';
import type { Member, View } from './membership.js';
import { waitMs, type Perspective } from './perspective.js';
import { emptyView, makeView } from './view.js';

interface Plan {
  readonly sinceMs: number;
  readonly wanted: string;
  readonly timer: Timer;
}

interface Seizure {
  readonly number: ViewNumber;
  readonly atMs: number;
}

/**
 * Makes the next view. Every worker with a lease may: the first in order does so after the changes of a
 * moment have been gathered, the next ones only if nothing came of it; the store takes a view only on top of
 * exactly the one that it was made from, so that two at once cost a number and nothing else.
 */
export class ViewMaker {
  readonly #world: Perspective;
  #plan: Plan | undefined;
  #making = false;
  #seizure: Seizure | undefined;
  #knownSeized: ViewNumber = viewNumber(0);
  #askedSeizedMs = Number.NEGATIVE_INFINITY;
  /** The number that was taken to find out whether there had ever been a view. */
  #firstNumber: ViewNumber | undefined;

  constructor(world: Perspective) {
    this.#world = world;
  }

  /** Views below this number are confirmed by nobody any more. */
  get seized(): ViewNumber {
    const { time, config } = this.#world;
    const own = this.#seizure;
    // The margin of a whole lease after the number was written: whoever read an older one has stopped by then.
    if (own !== undefined && time.monotonicMs() - own.atMs >= waitMs(config)) return own.number;
    return this.#knownSeized <= this.#world.view().number ? this.#knownSeized : viewNumber(0);
  }

  /** After each look at the store. */
  consider(): void {
    const { time, config } = this.#world;
    const wanted = this.#world.mayChange() ? this.#wanted() : undefined;
    if (wanted === undefined) {
      this.#cancel();
      return;
    }
    const names = wanted.map((member) => member.process).join();
    if (this.#making || this.#plan?.wanted === names) return;
    const sinceMs = this.#plan?.sinceMs ?? time.monotonicMs();
    this.#cancel();
    const latestMs = sinceMs + config.viewCoalesceMaxMs - time.monotonicMs();
    const delayMs =
      Math.max(0, Math.min(config.viewCoalesceMinMs, latestMs)) + this.#rank() * config.viewRankDelayMs;
    this.#plan = { sinceMs, wanted: names, timer: time.after(delayMs, () => void this.#make()) };
  }

  stop(): void {
    this.#cancel();
  }

  #cancel(): void {
    this.#plan?.timer.cancel();
    this.#plan = undefined;
  }

  /** The view to build on: the one in the store, and nothing while another is still to be brought back. */
  #base(): View | undefined {
    const inStore = this.#world.storeView();
    const own = this.#world.view();
    if (inStore === undefined) return own.number === 0 ? emptyView : undefined;
    return inStore.number < own.number ? undefined : inStore;
  }

  /** The members that the next view should have; nothing if they are those of the present one. */
  #wanted(): Member[] | undefined {
    const base = this.#base();
    if (base === undefined) return undefined;
    const { observer, config } = this.#world;
    const staying = base.members.filter(({ process }) => {
      const isSilent = observer.silentMs(process) >= waitMs(config);
      return (
        observer.lease(process)?.leaving !== true && observer.vanishedMs(process) === undefined && !isSilent
      );
    });
    const known = new Set(base.members.map((member) => member.process));
    const joining = observer
      .leases()
      .filter((lease) => !lease.leaving && !known.has(lease.member.process))
      .map((lease) => lease.member)
      .filter(({ process }) => observer.silentMs(process) < waitMs(config));
    const next = makeView(base.number, [...staying, ...joining]);
    const own = this.#world.view();
    // Equal numbers with unequal hashes are both void: the same members need a new number.
    const isVoid = own.number === base.number && own.hash !== base.hash;
    return next.hash === base.hash && !isVoid ? undefined : [...next.members];
  }

  /** Place in the order of those that could make the view; members of the present one come first. */
  #rank(): number {
    const { observer, config, self } = this.#world;
    const members = new Set(this.#world.view().members.map((member) => member.process));
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
      // Whatever came of it shows at the next look, which plans anew.
      this.#world.tell({ event: 'store_failed', error });
    } finally {
      this.#making = false;
    }
  }

  async #makeOnce(): Promise<void> {
    const { store, observer, time, config } = this.#world;
    if (!(await this.#world.look())) return;
    const base = this.#base();
    const wanted = this.#world.mayChange() ? this.#wanted() : undefined;
    const generation = observer.generation;
    if (base === undefined || wanted === undefined || generation === undefined) return;
    if (!(await this.#isSettled(base))) return;
    const opposition = this.#world.opposition();
    if (opposition.length > 0) {
      this.#world.tell({ event: 'opposed', by: opposition });
      await this.#overcome(opposition, base);
      return;
    }
    const number = await this.#nextNumber(base);
    const view = makeView(number, wanted);
    const publication = store.publish(view, { generation, follows: base });
    if (await within(time, config.memberStoreTimeoutMs, 'publishing a view', publication)) {
      this.#seizure = undefined;
      this.#world.adopt(view);
    }
  }

  #nextNumber(base: View): Promise<ViewNumber> {
    const { numbers, time, config } = this.#world;
    if (base.number === 0 && this.#firstNumber === 1) return Promise.resolve(this.#firstNumber);
    return within(time, config.statementTimeoutMs, 'the next view number', numbers.next(base.number));
  }

  /**
   * Under a new generation the living make themselves known again, and nothing changes for lease and margin:
   * who is missing may live. It is sooner settled where nobody is missing, or where no view was ever made.
   */
  async #isSettled(base: View): Promise<boolean> {
    const { observer, numbers, config, time } = this.#world;
    if (observer.generationAgeMs >= waitMs(config)) return true;
    if (base.number > 0) {
      return base.members.every(({ process }) => {
        const lease = observer.lease(process);
        return lease !== undefined && lease.holds <= base.number;
      });
    }
    if (this.#firstNumber === undefined) {
      const first = numbers.next(viewNumber(0));
      this.#firstNumber = await within(time, config.statementTimeoutMs, 'the first view number', first);
    }
    return this.#firstNumber === 1;
  }

  /**
   * Most workers of a view are silent, perhaps because they confirm each other. After a lease of silence a
   * number is seized, which they read before they go on; after one more lease they have stopped.
   */
  async #overcome(opposition: readonly ProcessId[], base: View): Promise<void> {
    const { observer, numbers, time, config } = this.#world;
    const nowMs = time.monotonicMs();
    if (nowMs - this.#askedSeizedMs >= config.leaseRenewMs) {
      this.#askedSeizedMs = nowMs;
      this.#knownSeized = await within(
        time,
        config.statementTimeoutMs,
        'the seized view number',
        numbers.seized(),
      );
    }
    const silent = opposition.every((process) => observer.silentMs(process) >= waitMs(config));
    if (!silent || this.#seizure !== undefined) return;
    const seizure = numbers.seize(base.number);
    const number = await within(time, config.statementTimeoutMs, 'seizing a view number', seizure);
    this.#seizure = { number, atMs: time.monotonicMs() };
    this.#world.tell({ event: 'seized', number });
  }
}
