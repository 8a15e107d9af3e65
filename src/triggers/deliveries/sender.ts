import type { Random, Time } from '../../../cluster/index.js';
import type { TenantScope } from '../../context/tenant-scope.js';
import type { Store } from '../../storage/index.js';
import { setDeliveryStatus } from '../history/executions.store.js';
import type { TriggerMeasures } from '../measures.js';
import { type Later, Rounds } from '../rounds.js';
import { attemptMs, Attempts, type AttemptParts } from './attempts.js';
import {
  advance,
  type AttemptEnd,
  beginAttempt,
  claimFirst,
  claimOne,
  type ClaimedDelivery,
  dueLines,
  endAttempt,
  firstDueInMs,
  isUnderWay,
  type Next,
} from './deliveries.store.js';
import { afterAttempt } from './retry.js';

/** How long nobody else looks after a delivery that is being sent. */
export const holdMs = attemptMs + 15_000;
const sweepEveryMs = 2_000;
/** What is due for so long had its timer on a node that is gone. */
const lateMs = 1_000;
const linesMax = 200;
/** Sessions that are sent to at once, by one node, and of these of one tenant, whose receivers may be slow. */
const sessionsMax = { all: 64, each: 32 };
const errorCharsMax = 500;
/** Shorter waits, as between chunks, are not worth giving the line up for. */
const pausedHereMsMax = 1_000;
const quietLookMs = 20;

export interface SenderParts extends AttemptParts {
  readonly store: Store;
  readonly measures: Pick<TriggerMeasures, 'attempted'>;
  readonly time: Time;
  readonly random: Random;
  readonly scopeOf: (tenantId: string) => TenantScope;
}

interface Line {
  readonly scope: TenantScope;
  readonly sessionId: string;
}

/**
 * Sends deliveries, in order within each session, each attempt recorded before it is made. A node takes a session's
 * first delivery by its row and holds it for the time of an attempt, so two nodes never send at once; what a node
 * leaves behind is found by the others when that time is over.
 */
export class Sender {
  readonly #parts: SenderParts;
  readonly #attempts: Attempts;
  readonly #rounds: Rounds<Line>;

  constructor(parts: SenderParts) {
    this.#parts = parts;
    this.#attempts = new Attempts(parts);
    const { store, time, scopeOf, report } = parts;
    this.#rounds = new Rounds<Line>({
      time,
      report,
      keyOf: ({ scope, sessionId }) => `${scope.tenantId} ${sessionId}`,
      shareOf: ({ scope }) => scope.tenantId,
      work: (line) => this.#send(line),
      findDue: async () =>
        (await store.directory((tx) => dueLines(tx, lateMs, linesMax))).map(({ tenant_id, session_id }) => ({
          scope: scopeOf(tenant_id),
          sessionId: session_id,
        })),
      everyMs: sweepEveryMs,
      room: sessionsMax,
      names: {
        working: 'sending answers of triggers',
        finding: 'looking for answers of triggers that wait',
      },
    });
  }

  start(): void {
    this.#rounds.start();
  }

  /** Attempts that are being made end; what is left is found by other nodes, or at the next start. */
  async stop(): Promise<void> {
    await this.#rounds.stop();
    this.#attempts.stop();
  }

  /** There is something to send in this session. */
  hint(scope: TenantScope, sessionId: string): void {
    this.#rounds.ask({ scope, sessionId });
  }

  /** Sends one delivery once, now, whatever waits before it. Undefined when it was sent, else why not. */
  async sendNow(scope: TenantScope, id: string): Promise<string | undefined> {
    for (;;) {
      const claimed = await this.#parts.store.inTenant(scope, async (tx) => {
        const delivery = await claimOne(scope, tx, id, holdMs);
        await beginAttempt(scope, tx, delivery);
        return delivery;
      });
      const { next, end } = await this.#attempt(scope, claimed, true);
      if (next.step === 'over')
        return next.status === 'delivered' ? undefined : (end.error ?? `status ${end.statusCode}`);
      if (next.inMs > 0) await this.#pause(next.inMs);
    }
  }

  /**
   * Resolves when no attempt to send an answer of the session is under way, on any node. To be asked for once a gate
   * was closed durably: an attempt that began before is recorded, one that begins later finds the gate closed. One whose
   * process was lost counts for as long as an attempt may take.
   */
  async quiet(scope: TenantScope, sessionId: string): Promise<void> {
    const { store } = this.#parts;
    while (await store.inTenant(scope, (tx) => isUnderWay(scope, tx, sessionId, attemptMs))) {
      await this.#pause(quietLookMs);
    }
  }

  async #send(line: Line): Promise<Later<Line> | undefined> {
    const { store } = this.#parts;
    const { scope, sessionId } = line;
    while (!this.#rounds.stopped) {
      const taken = await store.inTenant(scope, async (tx) => {
        const delivery = await claimFirst(scope, tx, sessionId, holdMs);
        if (delivery === null) return { dueInMs: await firstDueInMs(scope, tx, sessionId) };
        await beginAttempt(scope, tx, delivery);
        return { delivery };
      });
      if (taken.delivery !== undefined) await this.#attempt(scope, taken.delivery, false);
      else if (taken.dueInMs === undefined) return undefined;
      else if (taken.dueInMs > 0 && taken.dueInMs <= pausedHereMsMax) await this.#pause(taken.dueInMs);
      // Due and not to be had: an older message of the session still runs, or the row has just changed hands.
      else return { subject: line, inMs: Math.max(taken.dueInMs, lateMs) };
    }
    return undefined;
  }

  async #attempt(
    scope: TenantScope,
    delivery: ClaimedDelivery,
    once: boolean,
  ): Promise<{ readonly next: Next; readonly end: AttemptEnd }> {
    const { store, time, random, measures } = this.#parts;
    const result = await this.#attempts.make(scope, delivery);
    const verdict = afterAttempt(result, delivery.attempts, {
      fraction: random.fraction(),
      nowMs: time.wallMs(),
    });
    const next = nextOf(verdict, delivery, result.delayMs, once);
    const end: AttemptEnd =
      result.kind === 'answered'
        ? {
            statusCode: result.status,
            error: verdict === 'sent' ? null : `The receiver answered ${result.status}.`,
          }
        : { statusCode: null, error: result.error.slice(0, errorCharsMax) };
    const ageMs = await store.inTenant(scope, async (tx) => {
      await endAttempt(scope, tx, delivery, end);
      const moved = await advance(scope, tx, delivery, next, end);
      if (moved !== null && next.step === 'over' && delivery.execution_id !== null) {
        await setDeliveryStatus(scope, tx, delivery.execution_id, next.status);
      }
      return moved;
    });
    if (ageMs !== null && next.step === 'over') measures.attempted(next.status, ageMs);
    if (ageMs !== null && next.step === 'again') measures.attempted('repeated', ageMs);
    return { next, end };
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => void this.#parts.time.after(ms, resolve));
  }
}

function nextOf(
  verdict: ReturnType<typeof afterAttempt>,
  { chunk, chunk_total }: ClaimedDelivery,
  delayMs: number,
  once: boolean,
): Next {
  if (verdict === 'sent') {
    return chunk === chunk_total ? { step: 'over', status: 'delivered' } : { step: 'chunk', inMs: delayMs };
  }
  if (verdict === 'give-up' || once) return { step: 'over', status: 'delivery_failed' };
  return { step: 'again', inMs: verdict.waitMs };
}
