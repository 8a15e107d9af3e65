import type { Ids } from '../../kernel/chance.js';
import { type Instant, instantOf, type Random, sleep, type Time } from '../../../cluster/index.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { BatchWriter, BatchWriters } from '../../infra/storage/index.js';
import { type Finish, type FinishedAnswer, type FinishedRow, finishTarget } from './finish-target.js';
import type { TriggerMeasures } from '../messages/measures.js';
import { type ClaimedWork, type Later, ClaimLoop } from '../../infra/claims/index.js';
import { attemptMs, Attempts, type AttemptParts, ClaimLost, NoPlace } from './attempts.js';
import { type AttemptEnd, deliveryClaims, type ClaimedDelivery, type Next } from './deliveries.store.js';
import type { DeliveryRows } from './delivery-rows.js';
import { type EndedAttempt, type QueueRow, type QueueState, queueTarget } from './delivery-queue-target.js';
import { afterAttempt } from './retry.js';
import { storableText } from '../../kernel/storable-text.js';

/** How long other nodes leave a delivery alone that is being sent. */
export const holdMs = attemptMs + 15_000;
const sweepEveryMs = 2_000;
/** A delivery overdue by this much had its timer on a node that is gone. */
const lateMs = 1_000;
const linesMax = 200;
/** Sessions that one node sends to concurrently: in total, and per tenant, since its receivers may be slow. */
const sessionsMax = { all: 64, each: 32 };
const errorCharsMax = 500;
/** Shorter pauses, such as between chunks, are waited out without releasing the session. */
const pausedHereMsMax = 1_000;
const quietPollMs = 20;

export interface SenderParts extends AttemptParts {
  readonly rows: DeliveryRows;
  readonly writers: Pick<BatchWriters, 'writer'>;
  readonly measures: Pick<TriggerMeasures, 'attempted'>;
  readonly time: Time;
  readonly random: Random;
  readonly ids: Ids;
  readonly scopeOf: (tenantId: string) => TenantScope;
}

/** The result of sending a delivery immediately; `taken`: another process sends it, and its row holds the result. */
export type SentNow = 'sent' | 'taken' | { readonly failure: string };

/** A delivery whose attempt is recorded, and a moment before that. */
interface Begun {
  readonly delivery: ClaimedDelivery;
  readonly claimed: Instant;
}

type Advanced = Omit<QueueState, 'first'> & { readonly first: Begun | undefined };
type Ahead = Pick<Advanced, 'first' | 'dueInMs'>;

/** Another process may have the delivery; the next look shows when the claim is over. */
const lost: Ahead = { first: undefined, dueInMs: 0 };

interface Line {
  readonly scope: TenantScope;
  readonly sessionId: string;
  /**
   * The first delivery, if another statement starts its attempt; it resolves to undefined if it was not started. Only the
   * first look at the session takes it: after a failure, a second one would send the same attempt again.
   */
  readonly takeBegun?: () => Promise<Begun | undefined> | undefined;
}

/**
 * Sends deliveries in order within each session, and records each attempt before it is made. A node claims a session's
 * first delivery in its row for the time of an attempt, so two nodes never send at once; other nodes find abandoned
 * deliveries when that time is over. The end of an attempt and the start of the next are one row of a batch, and so are
 * the end of a message and the first attempt to send its answer.
 */
export class Sender {
  readonly #parts: SenderParts;
  readonly #attempts: Attempts;
  readonly #loop: ClaimLoop<Line>;
  readonly #finishes: BatchWriter<FinishedRow, Finish>;
  readonly #queues: BatchWriter<QueueRow, QueueState>;

  constructor(parts: SenderParts) {
    this.#parts = parts;
    this.#attempts = new Attempts(parts);
    const { rows, writers, time, scopeOf, report } = parts;
    this.#finishes = writers.writer(finishTarget({ holdMs }));
    this.#queues = writers.writer(queueTarget({ holdMs }));
    this.#loop = new ClaimLoop<Line>({
      time,
      report,
      keyOf: ({ scope, sessionId }) => `${scope.tenantId} ${sessionId}`,
      shareOf: ({ scope }) => scope.tenantId,
      work: (line) => this.#send(line),
      findDue: async (atOnce) =>
        (await rows.dueSessions(atOnce ? 0 : lateMs, linesMax)).map(({ tenant_id, session_id }) => ({
          scope: scopeOf(tenant_id),
          sessionId: session_id,
        })),
      everyMs: sweepEveryMs,
      room: sessionsMax,
      names: {
        working: 'sending deliveries',
        finding: 'finding deliveries that are due',
      },
    });
  }

  start(): void {
    this.#loop.start();
  }

  /** The claims on deliveries, for when a process has gone. */
  get claims(): ClaimedWork {
    return { table: deliveryClaims, sweepNow: () => this.#loop.sweepNow() };
  }

  /** Waits for attempts in progress. Other nodes find the rest, or this node does at its next start. */
  async stop(): Promise<void> {
    await this.#loop.stop();
    this.#attempts.stop();
  }

  /** Announces that the session has something to send. */
  announce(scope: TenantScope, sessionId: string): void {
    this.#loop.ask({ scope, sessionId });
  }

  /**
   * Finishes a message and puts its answer into the outbox, if it has one. If the answer can be sent immediately, its
   * attempt is started in the same commit and sent in the background; otherwise it waits in the session's queue.
   */
  async finish(
    scope: TenantScope,
    message: Omit<FinishedRow, 'answer'>,
    answer: Omit<FinishedAnswer, 'mayBegin'> | undefined,
  ): Promise<void> {
    const { session_id: sessionId } = message;
    let resolveBegun: (first: Begun | undefined) => void = () => undefined;
    let begun: Promise<Begun | undefined> | undefined = new Promise(
      (resolve) => void (resolveBegun = resolve),
    );
    const takeBegun = (): Promise<Begun | undefined> | undefined => {
      const taken = begun;
      begun = undefined;
      return taken;
    };
    // Reserve a place first: a recorded attempt that waits for one would run out of time.
    const mayBegin = answer !== undefined && this.#loop.askNow({ scope, sessionId, takeBegun });
    let mustAnnounce = true;
    const claimed = instantOf(this.#parts.time);
    try {
      const finish = await this.#finishes.write({ ...message, answer: answer && { ...answer, mayBegin } });
      mustAnnounce = finish.waits;
      if (answer !== undefined && finish.begunAt !== undefined) {
        resolveBegun({ delivery: begunDelivery(message, answer, finish.begunAt), claimed });
      }
    } finally {
      resolveBegun(undefined);
      // Also if it is unknown whether the row was written.
      if (mustAnnounce) this.announce(scope, sessionId);
    }
  }

  /**
   * Sends one delivery immediately from the given chunk on, regardless of those ahead of it. The queue sees it held,
   * also between chunks. A process that exceeds the hold loses the delivery to the queue and sends nothing more.
   */
  async sendNow(scope: TenantScope, id: string, fromChunk: number): Promise<SentNow> {
    for (let chunk = fromChunk; ; chunk += 1) {
      const attempt = (hasPlace: boolean) => this.#claimOne(scope, { id, chunk }, hasPlace);
      const first = await attempt(false);
      const ended =
        first === 'no-place' ? await this.#attempts.withMailPlace(scope, () => attempt(true)) : first;
      if (ended === undefined || ended === 'no-place') return 'taken';
      const { session_id: sessionId } = ended.delivery;
      const { ageMs } = await this.#goOn({ scope, sessionId }, ended, false);
      const { next, end } = ended;
      if (next.step === 'over') {
        // Answers queued behind it: the queue knew when the hold would end, not that the delivery has ended earlier.
        this.announce(scope, sessionId);
        if (ageMs === undefined) return 'taken';
        return next.status === 'delivered' ? 'sent' : { failure: end.error ?? `status ${end.statusCode}` };
      }
      if (next.inMs > 0) await this.#pause(next.inMs);
    }
  }

  /**
   * Resolves when no attempt to send an answer of the session is in progress on any node. Call it after a sender block
   * was committed: an earlier attempt is recorded, and a later one sees the block. An attempt of a lost process counts
   * for as long as an attempt may take.
   */
  async quiet(scope: TenantScope, sessionId: string): Promise<void> {
    while (await this.#parts.rows.isUnderWay(scope, sessionId, attemptMs)) {
      await this.#pause(quietPollMs);
    }
  }

  async #send({ scope, sessionId, takeBegun }: Line): Promise<Later<Line> | undefined> {
    const line: Line = { scope, sessionId };
    const begun = takeBegun?.();
    let state: Ahead =
      begun === undefined ? await this.#goOn(line) : { first: await begun, dueInMs: undefined };
    for (;;) {
      const { first, dueInMs } = state;
      // Also while this node stops: the attempt is recorded.
      if (first !== undefined) {
        const ended = await this.#attempt(scope, first, false);
        if (ended === 'no-place') state = await this.#onceItHasPlace(line);
        else state = ended === undefined ? lost : await this.#goOn(line, ended);
        continue;
      }
      if (dueInMs === undefined) return undefined;
      // Due but not available: an older message of the session still runs, or another process has just claimed the row.
      if (dueInMs <= 0 || dueInMs > pausedHereMsMax)
        return { subject: line, inMs: Math.max(dueInMs, lateMs) };
      await this.#pause(dueInMs);
      state = await this.#goOn(line);
    }
  }

  /**
   * Claims the queue's first delivery again once a mail may be sent, so that the time of its attempt begins then. Meanwhile
   * nobody holds it, and another node may have a place for it.
   */
  #onceItHasPlace(line: Line): Promise<Ahead> {
    return this.#attempts.withMailPlace(line.scope, async () => {
      if (this.#loop.stopped) return { first: undefined, dueInMs: undefined };
      const { first, ...rest } = await this.#goOn(line);
      if (first === undefined) return { first, ...rest };
      const ended = await this.#attempt(line.scope, first, false, true);
      return ended === undefined || ended === 'no-place' ? lost : this.#goOn(line, ended);
    });
  }

  async #claimOne(
    scope: TenantScope,
    one: Pick<ClaimedDelivery, 'id' | 'chunk'>,
    hasPlace: boolean,
  ): Promise<EndedAttempt | 'no-place' | undefined> {
    const claimed = instantOf(this.#parts.time);
    const delivery = await this.#parts.rows.begin(scope, one, holdMs);
    return delivery === null ? undefined : this.#attempt(scope, { delivery, claimed }, true, hasPlace);
  }

  /** Records the result of an attempt, if one was made, and claims the queue's first delivery if it may be sent. */
  async #goOn({ scope, sessionId }: Line, ended?: EndedAttempt, takesNext = true): Promise<Advanced> {
    const { measures, time } = this.#parts;
    const claimed = instantOf(time);
    const state = await this.#queues.write({
      tenant_id: scope.tenantId,
      session_id: sessionId,
      claim: this.#parts.ids.uuid(),
      ended,
      continues: takesNext && !this.#loop.stopped,
    });
    if (ended !== undefined && state.ageMs !== undefined) {
      if (ended.next.step === 'over') measures.attempted(ended.next.status, state.ageMs);
      if (ended.next.step === 'again') measures.attempted('repeated', state.ageMs);
    }
    const { first, ...rest } = state;
    return { ...rest, first: first && { delivery: first, claimed } };
  }

  /**
   * Undefined if the attempt was not made, because another process may have the delivery; `no-place` if it was taken back,
   * because no further mail may be sent now.
   */
  async #attempt(
    scope: TenantScope,
    { delivery, claimed }: Begun,
    once: boolean,
    hasPlace = false,
  ): Promise<EndedAttempt | 'no-place' | undefined> {
    const { time, random, rows } = this.#parts;
    const result = await this.#attempts.make(scope, delivery, claimed, hasPlace).catch((error: unknown) => {
      if (error instanceof ClaimLost) return undefined;
      if (error instanceof NoPlace) return 'no-place';
      throw error;
    });
    // The queue leaves it to who sends it at once.
    if (result === 'no-place') await rows.giveBack(scope, delivery, once ? holdMs : 0);
    if (result === undefined || result === 'no-place') return result;
    const verdict = afterAttempt(result, delivery.attempts, {
      fraction: random.fraction(),
      nowMs: time.wallMs(),
    });
    const end: AttemptEnd =
      result.kind === 'answered'
        ? {
            statusCode: result.status,
            error:
              verdict === 'sent'
                ? null
                : [`The receiver answered ${result.status}.`, result.hint ?? []].flat().join(' '),
          }
        : { statusCode: null, error: storableText(result.error.slice(0, errorCharsMax)) };
    return { delivery, next: nextOf(verdict, delivery, result.delayMs, once), end };
  }

  #pause(ms: number): Promise<void> {
    return sleep(this.#parts.time, ms);
  }
}

/** The delivery as the store would return it. */
function begunDelivery(
  message: Omit<FinishedRow, 'answer'>,
  answer: Omit<FinishedAnswer, 'mayBegin'>,
  begunAt: Date,
): ClaimedDelivery {
  return {
    id: answer.id,
    trigger_id: message.trigger_id,
    session_id: message.session_id,
    execution_id: answer.executionId,
    key: answer.executionId,
    chunk: 1,
    chunk_total: answer.chunkTotal,
    attempts: 1,
    sealed: answer.sealed,
    created_at: begunAt,
  };
}

function nextOf(
  verdict: ReturnType<typeof afterAttempt>,
  { chunk, chunk_total }: ClaimedDelivery,
  delayMs: number,
  once: boolean,
): Next {
  if (verdict === 'sent') {
    return chunk === chunk_total
      ? { step: 'over', status: 'delivered' }
      : { step: 'chunk', inMs: delayMs, heldMs: once ? holdMs : 0 };
  }
  if (verdict === 'give-up' || once) return { step: 'over', status: 'delivery_failed' };
  return { step: 'again', inMs: verdict.waitMs };
}
