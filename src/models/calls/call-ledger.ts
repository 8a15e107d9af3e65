/** The ledger of one call: a row for each attempt, before and after it, and one for the call when it has ended. */
import { isReady } from '../../kernel/ready.js';
import type { Time } from '../../../cluster/index.js';
import type { Ready } from '../../kernel/ready.js';
import { nanosOf } from '../../kernel/budget.js';
import { PlatformError } from '../../kernel/errors.js';
import { type AttemptReport, type AttemptStart, defaultCallLimits } from '../../llm/index.js';
import { type AppliedBudget, dayOf, openingMsMax, type Quota } from '../../tenancy/quota/index.js';
import type { Ledger, OpenedRow } from '../usage/index.js';
import type { CallOrder } from './call-order.js';
import { callRow, recordedRow } from './call-rows.js';
import { closedRow, graceMs, openedRow } from './usage-rows.js';

export interface CallLedgerParts {
  readonly ledger: Pick<Ledger, 'open' | 'withdraw' | 'close' | 'record'>;
  readonly quota: Pick<Quota, 'reserveTokens' | 'settleTokens' | 'reserveCost' | 'settleCost'>;
  readonly time: Time;
  readonly processId: string;
}

/** A call with the budgets that it counts against. */
export type BudgetedOrder = CallOrder & { readonly budgets?: readonly AppliedBudget[] };

export class CallLedger {
  readonly #parts: CallLedgerParts;
  readonly #order: BudgetedOrder;
  readonly #callId: string;
  readonly #onAttempt: (start: AttemptStart) => void;
  readonly #reports: AttemptReport[] = [];
  /** Reserved tokens of the month, by attempt. */
  readonly #reserved = new Map<string, number>();
  /** Attempts with a reserved cost. */
  readonly #budgeted = new Set<string>();
  readonly #startedAtMs: number;
  #startedAt = '';
  /** The row of the current attempt. */
  #opened: OpenedRow | undefined;
  #mayUsePool: boolean;
  #recorded = false;

  constructor(
    parts: CallLedgerParts,
    order: BudgetedOrder,
    callId: string,
    startedAtMs: number,
    onAttempt: (start: AttemptStart) => void,
  ) {
    this.#parts = parts;
    this.#order = order;
    this.#callId = callId;
    this.#startedAtMs = startedAtMs;
    this.#onAttempt = onAttempt;
    this.#mayUsePool = order.alreadyAdmitted === true;
  }

  readonly beforeAttempt = async (start: AttemptStart): Promise<void> => {
    const { time, processId } = this.#parts;
    const order = this.#order;
    this.#onAttempt(start);
    const { callMs } = order.clocks ?? defaultCallLimits;
    const row = openedRow(order, this.#callId, start, { wallMs: time.wallMs(), callMs, processId });
    if (start.payer === 'platform') {
      const reserving = this.#reserve(row, callMs + graceMs);
      if (reserving !== undefined) await reserving;
    }
    const openUntilMs = await this.#reserveCost(row, start.number, callMs + graceMs);
    if (order.ready === undefined) await this.#open(row);
    else await this.#openBeside(row, order.ready);
    if (time.monotonicMs() > openUntilMs) await this.#refuseLate(row);
    this.#opened = row;
    if (this.#startedAt === '') this.#startedAt = row.opened_at;
  };

  #open(row: OpenedRow): Promise<void> {
    return this.#parts.ledger.open(row).catch((error: unknown) => {
      this.#settle(row, 0);
      throw error;
    });
  }

  async #openBeside(row: OpenedRow, others: Promise<void>): Promise<void> {
    const { ledger } = this.#parts;
    const along = this.#order.openWith?.(row);
    const opening = along ?? ledger.open(row);
    const [opened, ready] = await Promise.allSettled([opening, others]);
    if (opened.status === 'fulfilled' && ready.status === 'fulfilled') return;
    this.#settle(row, 0);
    // The ledger takes back a row that it failed to open itself. Only this caller knows whether another commit opened one.
    if (opened.status === 'fulfilled' || along !== undefined) {
      // If the store refuses now, the ledger retries later. The caller needs the error that stopped the call.
      await ledger.withdraw(row).catch(() => undefined);
    }
    throw refusedBy(opened, ready);
  }

  readonly afterAttempt = (report: AttemptReport): Promise<void> => {
    const recorded = this.#close(report);
    const { onBooking } = this.#order;
    if (onBooking === undefined || report.outcome !== 'completed') return recorded;
    onBooking(recorded);
    return Promise.resolve();
  };

  async #close(report: AttemptReport): Promise<void> {
    const { ledger, time } = this.#parts;
    this.#reports.push(report);
    const opened = this.#opened;
    if (opened === undefined) throw new Error('An attempt that has ended was opened');
    const row = closedRow(this.#order, report, opened.opened_at, time.wallMs());
    try {
      if (report.outcome !== 'completed') await ledger.close(row, undefined, opened);
      // A complete answer ends the call, so both rows are written at once.
      else if (this.#reports.length > 1)
        await Promise.all([ledger.close(row, undefined, opened), this.end()]);
      else {
        this.#recorded = true;
        await ledger.close(row, recordedRow(this.#order, report, this.#responseMs()), opened);
      }
    } finally {
      // Also if the store has not accepted the row yet: the retry closes it with the same figures.
      this.#settle(row, row.input_tokens + row.output_tokens, row.cost);
    }
  }

  #reserve(row: OpenedRow, withinMs: number): Ready<void> {
    const { scope, limits } = this.#order;
    const alreadyAdmitted = this.#mayUsePool;
    const tokens = row.input_estimate + row.output_estimate;
    const wish = { attemptId: row.attempt_id, tokens, withinMs, limits, alreadyAdmitted };
    const answered = (refusal: PlatformError | undefined): void => {
      if (refusal === undefined) this.#reserved.set(row.attempt_id, tokens);
      // Admitted work may exceed the limit; its row is opened without a reservation and counts when it is closed.
      else if (!alreadyAdmitted) throw refusal;
      // A second attempt of an admitted call may also exceed the limit.
      this.#mayUsePool = true;
    };
    const answer = this.#parts.quota.reserveTokens(scope, wish);
    if (isReady(answer)) return answered(answer);
    return answer.then(answered, (error: unknown) => {
      if (!alreadyAdmitted) throw error;
    });
  }

  /** Returns until when the row must be open. Without a budget nothing is asked. */
  async #reserveCost(row: OpenedRow, number: number, withinMs: number): Promise<number> {
    const { quota, time } = this.#parts;
    const { scope, budgets = [], keyId, agentId = null, withinBudgets } = this.#order;
    if (budgets.length === 0) return Number.POSITIVE_INFINITY;
    const attemptId = row.attempt_id;
    const nanos = nanosOf(row.cost_estimate);
    const askedAtMs = time.monotonicMs();
    // The call that crosses a budget is served, so its retries and fallbacks are too.
    const alreadyAdmitted = number > 1 || withinBudgets === true;
    const claim = { attemptId, nanos, withinMs, keyId, agentId, budgets, alreadyAdmitted };
    try {
      const answer = await quota.reserveCost(scope, claim);
      if (answer instanceof PlatformError) throw answer;
      this.#budgeted.add(attemptId);
      return askedAtMs + answer.waitedMs + openingMsMax;
    } catch (error) {
      this.#settle(row, 0);
      throw error;
    }
  }

  /** A new owner of the budgets may have read the open rows before this one. */
  async #refuseLate(row: OpenedRow): Promise<void> {
    this.#settle(row, 0);
    await this.#parts.ledger.withdraw(row).catch(() => undefined);
    throw new PlatformError('service_unavailable', { retryAfterSeconds: 1 });
  }

  #settle(row: Pick<OpenedRow, 'attempt_id' | 'opened_at'>, tokens: number, cost = 0): void {
    const attemptId = row.attempt_id;
    if (this.#budgeted.delete(attemptId)) {
      const { scope, keyId, agentId = null } = this.#order;
      const day = dayOf(Date.parse(row.opened_at));
      this.#parts.quota.settleCost(scope, { attemptId, nanos: nanosOf(cost), keyId, agentId, day });
    }
    const reserved = this.#reserved.get(attemptId);
    if (reserved === undefined) return;
    this.#reserved.delete(attemptId);
    this.#parts.quota.settleTokens(this.#order.scope, { attemptId, reserved, tokens });
  }

  /** Records the call for telemetry, once, if it had an attempt. */
  end(): Ready<void> {
    if (this.#recorded || this.#reports.length === 0) return;
    this.#recorded = true;
    return this.#parts.ledger.record(
      callRow(this.#order, this.#callId, this.#startedAt, this.#reports, this.#responseMs()),
    );
  }

  #responseMs(): number {
    return Math.max(0, this.#parts.time.monotonicMs() - this.#startedAtMs);
  }
}

/** If both were refused, the error of the commit that the call waited for tells who owns the work. */
function refusedBy(opened: PromiseSettledResult<void>, ready: PromiseSettledResult<void>): unknown {
  if (ready.status === 'rejected') return ready.reason;
  return opened.status === 'rejected' ? opened.reason : undefined;
}
