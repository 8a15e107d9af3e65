import { LRUCache } from 'lru-cache';
import type { Time } from '../../../cluster/index.js';
import { type AppliedBudget, isWithin, startOf } from './budgets.js';

/**
 * The costs of one tenant against its budgets, in billionths of a dollar. The rows hold what was spent; this ledger adds
 * what running calls have reserved. A call is admitted while both together are below each of its budgets, so that only
 * the call that crosses a budget exceeds it.
 *
 * An activation commits once, before its first reservation, that it reserves costs. A successor that finds this mark
 * waits until every attempt of the earlier owner has its row or is not made, and reads the open rows.
 */
export interface CostReservation {
  readonly attemptId: string;
  readonly process: string;
  readonly nanos: number;
  readonly withinMs: number;
  readonly keyId: string | null;
  readonly agentId: string | null;
}

export interface CostClaim extends CostReservation {
  readonly budgets: readonly AppliedBudget[];
  /** Another attempt of an admitted call. */
  readonly alreadyAdmitted: boolean;
}

export type CostReserved =
  /** `waitedMs`: how long the ledger took to decide. */
  | { readonly outcome: 'reserved'; readonly waitedMs: number }
  | { readonly outcome: 'spent'; readonly budget: number; readonly spent: number }
  /** Reservations of processes that died take what is left, until their rows are closed. */
  | { readonly outcome: 'busy' };

export interface CostSettlement {
  readonly attemptId: string;
  readonly nanos: number;
  readonly keyId: string | null;
  readonly agentId: string | null;
  /** The day (UTC) on which the attempt began, and counts. Undefined from a node of an earlier version. */
  readonly day: string | undefined;
}

export interface CostLedgerParts {
  readonly time: Time;
  /** Reads what was spent in the period that begins on a day. */
  readonly read: (budget: AppliedBudget, starts: string) => Promise<number>;
  /** Commits that this activation reserves costs. */
  readonly mark: () => Promise<void>;
  /** Reads the open attempts. */
  readonly recover: () => Promise<readonly CostReservation[]>;
  /** An earlier activation reserved costs, and did not end in order. */
  readonly inherited: boolean;
  /** Called when what was spent has reached 80 or 100 percent; repeated until it resolves. */
  readonly onThreshold: (
    budget: AppliedBudget,
    starts: string,
    percent: 80 | 100,
    spent: number,
  ) => Promise<void>;
  readonly report: (attempted: string, error: unknown) => void;
}

interface Kept extends CostReservation {
  readonly untilMs: number;
  /** The process died or the deadline passed: the row will be closed by a sweep. */
  readonly closing: boolean;
}

/** What was spent of one budget. */
interface Account {
  budget: AppliedBudget;
  starts: string;
  /** The store's figure. At least this was spent. */
  stored: number;
  readAtMs: number;
  /** All settled costs, and those of them that the store's figure certainly includes. */
  settled: number;
  settledRead: number;
  reading: Promise<void> | undefined;
  told: 0 | 80 | 100;
  telling: boolean;
  usedAtMs: number;
}

const freshMs = 1_000;
/** Within this time an attempt has its row or is not made. */
export const openingMsMax = 5_000;
/** The rows of an earlier owner's attempts are there by then: with room for clocks of another speed. */
const recoverAfterMs = openingMsMax + 1_000;
const closingMs = 60_000;
/** A call that only reservations refuse waits so long for a settlement that is on its way. */
const patienceMs = 250;
const readsMax = 10;
const accountIdleMs = 600_000;
const settledMax = 10_000;

export class CostLedger {
  readonly #parts: CostLedgerParts;
  readonly #kept = new Map<string, Kept>();
  readonly #accounts = new Map<string, Account>();
  readonly #settled = new LRUCache<string, true>({ max: settledMax });
  #changed: (() => void)[] = [];
  #marked: Promise<void> | undefined;
  #known: boolean;
  #recovered: Promise<void> | undefined;
  #endWait: (() => void) | undefined;
  readonly #sinceMs: number;

  constructor(parts: CostLedgerParts) {
    this.#parts = parts;
    this.#known = !parts.inherited;
    this.#sinceMs = parts.time.monotonicMs();
  }

  get isIdle(): boolean {
    return this.#known && this.#kept.size === 0;
  }

  /** Every reservation of the tenant is known. */
  get knowsAll(): boolean {
    return this.#known;
  }

  async reserve(claim: CostClaim): Promise<CostReserved> {
    const { time } = this.#parts;
    const beganMs = time.monotonicMs();
    const reserved = (): CostReserved => ({ outcome: 'reserved', waitedMs: time.monotonicMs() - beganMs });
    await this.#ready();
    let patientUntilMs: number | undefined;
    for (let reads = 0; ;) {
      // The attempt is reserved already, or has ended: this is a repeated request.
      if (this.#kept.has(claim.attemptId) || this.#settled.has(claim.attemptId)) return reserved();
      const decision = claim.alreadyAdmitted ? 'room' : this.#decide(claim, reads >= readsMax);
      if (decision === 'room') {
        this.#remember(claim);
        return reserved();
      }
      if ('read' in decision) {
        reads += 1;
        await this.#read(decision.read);
      } else if (decision.refusal.outcome === 'spent' && decision.spentUp) return decision.refusal;
      else {
        patientUntilMs ??= time.monotonicMs() + patienceMs;
        const leftMs = patientUntilMs - time.monotonicMs();
        if (leftMs <= 0) return decision.refusal;
        await this.#nextChange(leftMs);
        reads = 0;
      }
    }
  }

  /** The attempt has ended and its row is closed. */
  settle({ attemptId, nanos, keyId, agentId, day }: CostSettlement): void {
    if (this.#settled.has(attemptId)) return;
    this.#settled.set(attemptId, true);
    this.#kept.delete(attemptId);
    for (const account of this.#accounts.values()) {
      if (!covers(account.budget, { keyId, agentId }) || !isWithin(account, day)) continue;
      account.settled += nanos;
      this.#look(account);
    }
    this.#wake();
  }

  sweep(isGone: (process: string) => boolean): void {
    const nowMs = this.#parts.time.monotonicMs();
    for (const [id, kept] of this.#kept) {
      if (kept.closing) {
        if (kept.untilMs <= nowMs) this.#kept.delete(id);
      } else if (kept.untilMs <= nowMs || isGone(kept.process)) {
        this.#kept.set(id, { ...kept, closing: true, untilMs: nowMs + closingMs });
      }
    }
    for (const [name, account] of this.#accounts) {
      if (nowMs - account.usedAtMs > accountIdleMs) this.#accounts.delete(name);
      else this.#look(account);
    }
    this.#wake();
  }

  leftovers(): readonly CostReservation[] {
    const nowMs = this.#parts.time.monotonicMs();
    return [...this.#kept.values()].map(({ untilMs, ...kept }) => ({
      attemptId: kept.attemptId,
      process: kept.process,
      nanos: kept.nanos,
      withinMs: Math.max(0, untilMs - nowMs),
      keyId: kept.keyId,
      agentId: kept.agentId,
    }));
  }

  /** Adds reservations of the earlier owner. If these are `all`, nothing is waited for. */
  takeOver(leftovers: readonly CostReservation[], all: boolean): void {
    for (const one of leftovers) {
      if (!this.#kept.has(one.attemptId) && !this.#settled.has(one.attemptId)) this.#remember(one);
    }
    if (!all) return;
    this.#known = true;
    this.#endWait?.();
  }

  #decide(
    claim: CostClaim,
    enoughReads: boolean,
  ):
    | 'room'
    | { readonly read: AppliedBudget }
    | { readonly refusal: CostReserved; readonly spentUp: boolean } {
    for (const [index, budget] of claim.budgets.entries()) {
      const account = this.#current(budget);
      if (account === undefined) return { read: budget };
      const { sure, all } = this.#reservedOf(budget);
      if (mostSpent(account) + all < budget.limit) continue;
      const spent = account.stored;
      const spentUp = spent >= budget.limit;
      // A settlement may be counted twice: only the store's figure refuses.
      if (!spentUp && !isExact(account) && !enoughReads) return { read: budget };
      const isSure = spent + sure >= budget.limit;
      const refusal: CostReserved = isSure ? { outcome: 'spent', budget: index, spent } : { outcome: 'busy' };
      return { refusal, spentUp };
    }
    return 'room';
  }

  #current(budget: AppliedBudget): Account | undefined {
    const { time } = this.#parts;
    const account = this.#accounts.get(nameOf(budget));
    const starts = startOf(budget.period, time.wallMs());
    if (account?.starts !== starts || time.monotonicMs() - account.readAtMs >= freshMs) return undefined;
    apply(budget, account);
    account.usedAtMs = time.monotonicMs();
    return account;
  }

  #reservedOf(budget: AppliedBudget): { readonly sure: number; readonly all: number } {
    let sure = 0;
    let all = 0;
    for (const kept of this.#kept.values()) {
      if (!covers(budget, kept)) continue;
      all += kept.nanos;
      if (!kept.closing) sure += kept.nanos;
    }
    return { sure, all };
  }

  #read(budget: AppliedBudget): Promise<void> {
    const { time } = this.#parts;
    const name = nameOf(budget);
    const starts = startOf(budget.period, time.wallMs());
    let account = this.#accounts.get(name);
    if (account?.starts !== starts) {
      account = { ...unread, budget, starts, usedAtMs: time.monotonicMs() };
      this.#accounts.set(name, account);
    }
    apply(budget, account);
    return this.#readInto(account);
  }

  #readInto(account: Account): Promise<void> {
    account.reading ??= this.#readNow(account).finally(() => (account.reading = undefined));
    return account.reading;
  }

  async #readNow(account: Account): Promise<void> {
    const { time, read } = this.#parts;
    const readAtMs = time.monotonicMs();
    const { settled } = account;
    account.stored = await read(account.budget, account.starts);
    // The figure may or may not include settlements during the read.
    account.settledRead = settled;
    account.readAtMs = readAtMs;
    this.#look(account);
  }

  #remember({ attemptId, process, nanos, withinMs, keyId, agentId }: CostReservation): void {
    const untilMs = this.#parts.time.monotonicMs() + withinMs;
    const kept = { attemptId, process, nanos, withinMs, keyId, agentId };
    this.#kept.set(attemptId, { ...kept, untilMs, closing: false });
  }

  async #ready(): Promise<void> {
    this.#marked ??= this.#parts.mark().catch((error: unknown) => {
      this.#marked = undefined;
      throw error;
    });
    await this.#marked;
    if (this.#known) return;
    this.#recovered ??= this.#recover().finally(() => (this.#recovered = undefined));
    await this.#recovered;
  }

  async #recover(): Promise<void> {
    const { time, recover } = this.#parts;
    await new Promise<void>((resolve) => {
      const timer = time.after(Math.max(0, this.#sinceMs + recoverAfterMs - time.monotonicMs()), resolve);
      this.#endWait = () => {
        timer.cancel();
        resolve();
      };
    });
    if (!this.#known) this.takeOver(await recover(), true);
  }

  #nextChange(withinMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#parts.time.after(withinMs, resolve);
      this.#changed.push(() => {
        timer.cancel();
        resolve();
      });
    });
  }

  #wake(): void {
    for (const changed of this.#changed.splice(0)) changed();
  }

  /** Tells thresholds that the store's figure has reached. The local sum, which may be too high, only says when to read. */
  #look(account: Account): void {
    const { budget, stored, told, starts } = account;
    const percent = thresholdOf(budget, stored);
    if (percent === 0 || percent <= told) {
      if (thresholdOf(budget, mostSpent(account)) > told) this.#readAlone(account);
      return;
    }
    if (account.telling) return;
    account.telling = true;
    const next = percent === 100 && told === 0 ? 80 : percent;
    this.#parts
      .onThreshold(budget, starts, next, stored)
      .then(() => {
        if (account.budget.limit === budget.limit) account.told = next;
      })
      .catch((error: unknown) => this.#parts.report('telling of a budget', error))
      .finally(() => {
        account.telling = false;
        if (account.told === next || account.budget.limit !== budget.limit) this.#look(account);
      });
  }

  /** Beside the calls. A read under way is followed by the next settlement or sweep, if it was too early. */
  #readAlone(account: Account): void {
    if (account.reading !== undefined) return;
    this.#readInto(account).catch((error: unknown) =>
      this.#parts.report('reading what was spent of a budget', error),
    );
  }
}

const unread = {
  stored: 0,
  readAtMs: Number.NEGATIVE_INFINITY,
  settled: 0,
  settledRead: 0,
  reading: undefined,
  told: 0,
  telling: false,
} as const;

/** The highest possible sum: settlements since the read may be part of the store's figure already. */
function mostSpent({ stored, settled, settledRead }: Account): number {
  return stored + settled - settledRead;
}

function isExact({ settled, settledRead }: Account): boolean {
  return settled === settledRead;
}

function thresholdOf({ limit }: AppliedBudget, spent: number): 0 | 80 | 100 {
  return spent >= limit ? 100 : spent * 5 >= limit * 4 ? 80 : 0;
}

/** A changed limit has thresholds of its own. */
function apply(budget: AppliedBudget, account: Account): void {
  if (account.budget.limit !== budget.limit) account.told = 0;
  account.budget = budget;
}

function nameOf({ scope, id, period }: AppliedBudget): string {
  return `${scope}/${id}/${period}`;
}

function covers(
  { scope, id }: AppliedBudget,
  call: { readonly keyId: string | null; readonly agentId: string | null },
): boolean {
  return scope === 'tenant' || (scope === 'key' ? call.keyId : call.agentId) === id;
}
