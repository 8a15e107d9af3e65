import type { Ids } from '../../kernel/chance.js';
import type { Time, Timer } from '../../../cluster/index.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import { type ErrorCode, PlatformError } from '../../kernel/errors.js';
import { spelled } from '../../http/operations/index.js';
import { StoreError } from '../../infra/storage/index.js';
import type { SenderBlocks } from '../messages/sender-blocks.js';
import type { LiveTriggers } from '../triggers/live-triggers.js';
import type { TurnOutcome, TurnPort } from '../triggers/ports.js';
import type { ClaimedWork } from '../../infra/claims/index.js';
import { SessionLines, type WaitingMessage } from './session-lines.js';
import { TurnWaits } from './session-turns.js';
import { StartPacer } from './start-pacer.js';
import { LeftBehind } from './left-behind.js';
import { MessageCompletion, type MessageCompletionParts } from './message-completion.js';
import { messageClaims } from './inbox.store.js';
import type { MessageRows } from './message-rows.js';
import type { InboxMessage } from '../messages/inbox-message.js';
import { blocked, takenOrRefused } from './taken-turn.js';
import { orderOf } from './turn-order.js';
import type { MessageSealer } from '../messages/message-payload.js';
import { forget, MessageReader, type ReadMessage } from './message-reader.js';

/** How long other nodes leave a row alone that runs here. */
export const holdMs = 60_000;
const renewEveryMs = 20_000;
const sweepEveryMs = 2_000;
const deleteEveryMs = 60_000;
const deletedMax = 1_000;
/** Turns that this node runs at once. More wait in memory, in turn between tenants, and in the store. */
const turnsMax = { all: 512, each: 256 };
/** The bound of messages that wait in memory. Pollers leave new messages at their source while it is reached. */
const waitingMax = 5_000;
/** A message that its session has refused for this long is given up. */
export const patienceMs = 3_600_000;
/**
 * A message whose session has its turn is kept for this long, in case the turn can never end: several turns before it may
 * each wait seven days for a person.
 */
const knownPatienceMs = 30 * 24 * 3_600_000;
const rescheduleMs = 2_000;
const giveBackMs = 30_000;
/** The delay after the store had no capacity or was unreachable. */
const storeAgainMs = 1_000;
/** A message that waited for longer in memory is read again: it may have been erased, or another process may run it. */
export const freshMs = 2_000;
/** The pauses between looks for older messages of a session that wait elsewhere. */
const lookMs = { first: 250, most: 1_500 };
/** A statement without an answer is stopped, or its connection lost, long before the last look. */
const unknownLooksMax = 30;
const claiming = 'claiming abandoned inbox messages';

export interface InboxRunnerParts {
  readonly ids: Ids;
  readonly rows: MessageRows;
  readonly live: Pick<LiveTriggers, 'get'>;
  readonly senderBlocks: Pick<SenderBlocks, 'isRefused'>;
  readonly turns: Pick<TurnPort, 'runTurn' | 'outcomeOf' | 'isKnown'>;
  readonly sender: MessageCompletionParts['sender'];
  readonly plainTexts: MessageCompletionParts['plainTexts'];
  readonly seal: MessageSealer;
  readonly time: Time;
  readonly scopeOf: (tenantId: string) => TenantScope;
  readonly report: (attempted: string, error: unknown) => void;
}

/**
 * Runs accepted messages in their sessions and puts the answers into the outbox. The inbox row holds the execution's
 * id, so a message that is handed to its session twice is one turn, and an answer that is put into the outbox twice is
 * one delivery.
 */
export class InboxRunner {
  readonly #parts: InboxRunnerParts;
  readonly #completion: MessageCompletion;
  readonly #reader: MessageReader;
  readonly #leftBehind: LeftBehind;
  readonly #running = new Map<string, Promise<TurnOutcome>>();
  readonly #pacer: StartPacer<WaitingMessage>;
  readonly #lines: SessionLines;
  /** Messages that are read again, or wait to start again after a store failure. */
  readonly #retries = new Set<InboxMessage>();
  readonly #timers = new Set<Timer>();
  #stopped = false;
  #hasLeft = false;

  constructor(parts: InboxRunnerParts) {
    this.#parts = parts;
    this.#completion = new MessageCompletion(parts);
    this.#reader = new MessageReader(parts, holdMs);
    this.#leftBehind = new LeftBehind({
      ...parts,
      reader: this.#reader,
      holdMs,
      patienceMs,
      held: () => this.#held(),
      begin: (item) => this.begin(item),
      giveUp: (item, error) => this.#giveUp(item, error),
    });
    this.#pacer = new StartPacer({
      time: parts.time,
      limits: turnsMax,
      begin: (waiting) => this.#begin(waiting),
    });
    this.#lines = new SessionLines({
      begin: (waiting) => this.#pacer.ask(waiting.item.scope.tenantId, waiting),
      forget,
      giveBack: (waiting) => this.#giveBack(waiting, giveBackMs),
    });
  }

  start(): void {
    this.#every(sweepEveryMs, claiming, () => this.#claimAbandoned());
    this.#every(renewEveryMs, 'renewing claims on inbox messages', () => this.#renewClaims());
    this.#every(deleteEveryMs, 'deleting old inbox messages', () => this.#deleteOld());
  }

  /** Running turns continue in their sessions. Other nodes claim the rows, or this node does at its next start. */
  stop(): void {
    this.#stopped = true;
    this.#pacer.stop();
    for (const timer of this.#timers) timer.cancel();
  }

  /** The claims on messages, for when a process has gone. */
  get claims(): ClaimedWork {
    const sweepNow = (): void => {
      if (!this.#stopped) this.#claimAbandoned().catch((error) => this.#parts.report(claiming, error));
    };
    return { table: messageClaims, sweepNow };
  }

  /** Starts nothing more; leaves what it has and what it accepts to the other nodes. Its turns go on in their sessions. */
  async leave(): Promise<void> {
    this.#hasLeft = true;
    this.stop();
    await this.#parts.rows.releaseOwnClaims();
  }

  get isFull(): boolean {
    return this.#pacer.waitingCount >= waitingMax;
  }

  /** Runs the message in the background. Its row has been written. `onEnd` is not called if it ends elsewhere. */
  begin(item: InboxMessage, onEnd?: () => void): void {
    this.#ask({ item, readAtMs: this.#parts.time.monotonicMs(), onEnd });
  }

  #ask(waiting: WaitingMessage): void {
    if (this.#running.has(waiting.item.executionId)) return;
    if (this.#hasLeft) this.#giveBack(waiting, 0);
    else if (!this.#stopped) this.#lines.ask(waiting);
  }

  /**
   * For a message whose commit is unknown: runs it if it was committed. Otherwise nobody would before the end of its hold,
   * and all later answers of its session would wait for it. `row` needs no position.
   */
  beginIfAccepted(item: InboxMessage, looks = unknownLooksMax): void {
    const { row, scope, executionId } = item;
    if (row === undefined || looks <= 0) return;
    this.#retries.add(item);
    const timer = this.#parts.time.after(storeAgainMs, () => {
      this.#timers.delete(timer);
      this.#parts.rows.ownPlace(scope, row, executionId).then(
        (seq) => {
          this.#retries.delete(item);
          if (seq === null) this.beginIfAccepted(item, looks - 1);
          else this.begin({ ...item, row: { ...row, seq, isBehind: true }, attempts: item.attempts + 1 });
        },
        (error: unknown) => {
          this.#retries.delete(item);
          this.#parts.report('looking for a message whose commit is unknown', error);
          this.beginIfAccepted(item, looks - 1);
        },
      );
    });
    this.#timers.add(timer);
  }

  #begin(waiting: WaitingMessage): void {
    const { item, readAtMs } = waiting;
    if (this.#stopped) return;
    if (this.#running.has(item.executionId)) {
      this.#lines.passed(item);
      return;
    }
    const isFresh = this.#parts.time.monotonicMs() - readAtMs <= freshMs;
    const isWhole = item.isForSeveralTurns !== true && item.isUnread !== true;
    void (isFresh && isWhole && item.row?.isBehind !== true
      ? this.#runHere(waiting)
      : this.#runIfAccepted(waiting));
  }

  /** Never rejects. */
  async #runHere(waiting: WaitingMessage, onTaken?: () => void): Promise<void> {
    const { item } = waiting;
    const passed = (): void => {
      onTaken?.();
      this.#lines.passed(item);
    };
    const ended = (): void => {
      passed();
      waiting.onEnd?.();
    };
    await this.run(item, passed).then(ended, (error: unknown) => this.#afterFailure(waiting, error));
  }

  /** The rest of its buffer follows in the order of acceptance: once the session has the turn, or refuses it. */
  async #runIfAccepted(waiting: WaitingMessage): Promise<void> {
    const read = await this.#readAgain(waiting.item).catch((error: unknown) =>
      this.#afterFailure(waiting, error),
    );
    if (read === 'failed' || this.#stopped) return;
    if (read === undefined) return this.#lines.passed(waiting.item);
    if (read === 'behind') return this.#lookAgain(waiting);
    const { item, rest } = read;
    // Both are read again when they begin later.
    const { readAtMs, onEnd } = waiting;
    // Its claim is renewed meanwhile.
    if (rest !== undefined) this.#retries.add(rest);
    const beginRest = (): void => {
      if (rest !== undefined && this.#retries.delete(rest)) this.#ask({ item: rest, readAtMs });
    };
    await this.#runHere({ item, readAtMs, onEnd }, beginRest);
    beginRest();
  }

  /** It takes its place and keeps its claim meanwhile. */
  async #readAgain(item: InboxMessage): Promise<ReadMessage | 'behind' | undefined> {
    const { scope } = item;
    this.#pacer.enter(scope.tenantId);
    this.#retries.add(item);
    try {
      return await this.#reader.again(item);
    } catch (error) {
      // The rest of a buffer may have got its row.
      if (item.isForSeveralTurns === true && error instanceof StoreError) this.#leftBehind.mayHoldUnknown();
      throw error;
    } finally {
      this.#retries.delete(item);
      this.#pacer.leave(scope.tenantId);
    }
  }

  /**
   * Resolves to the outcome of the turn; rejects with the reason why the turn was not accepted. A second call meanwhile
   * joins the first.
   */
  run(item: InboxMessage, onTaken?: () => void): Promise<TurnOutcome> {
    const { executionId, scope } = item;
    const known = this.#running.get(executionId);
    if (known !== undefined) return known;
    this.#pacer.enter(scope.tenantId);
    const running = this.#process(item, onTaken).finally(() => {
      this.#running.delete(executionId);
      this.#pacer.leave(scope.tenantId);
    });
    this.#running.set(executionId, running);
    return running;
  }

  async #process(item: InboxMessage, onTaken: (() => void) | undefined): Promise<TurnOutcome> {
    const { live, senderBlocks, turns } = this.#parts;
    const trigger = await live.get(item.triggerId);
    if (trigger === undefined) {
      await this.#completion.finish(item, undefined, blocked);
      return blocked;
    }
    // Check again: the sender may have been refused while the message waited. Whoever runs a trigger by hand is none.
    const isRefused =
      item.invokedBy === undefined &&
      (await senderBlocks.isRefused(item.scope, trigger.parsed, item.work.consumerKey));
    const { turn, record } = isRefused
      ? { turn: blocked, record: 'blocked' as const }
      : await takenOrRefused(turns.runTurn({ ...orderOf(trigger, item), onTaken }));
    if (record === undefined) await this.#completion.finish(item, trigger, turn);
    else
      await this.#completion.endUnknown(item, trigger, { status: record, error: turn.error ?? null }, turn);
    return turn;
  }

  /** Older messages of its session wait on other nodes, or for their next attempt. */
  #lookAgain(waiting: WaitingMessage): void {
    const { pauseMs = lookMs.first / 2 } = waiting;
    const later = { ...forget(waiting), pauseMs: Math.min(2 * pauseMs, lookMs.most) };
    this.#beginAgain(later, later.pauseMs);
  }

  /** No caller waits for the answer: retry later, or record an end that the owner can see. */
  async #afterFailure(waiting: WaitingMessage, error: unknown): Promise<'failed'> {
    const { rows, report, time } = this.#parts;
    const { item, readAtMs } = waiting;
    const { row, scope } = item;
    const again = { ...waiting, item: { ...item, attempts: item.attempts + 1 } };
    const ageMs = item.ageMs + time.monotonicMs() - readAtMs;
    if (row === undefined) return 'failed';
    let runsAgain = error instanceof StoreError && (error.retryable || error.failure === 'outcome-unknown');
    try {
      if (!(error instanceof PlatformError) || item.isUnread === true) {
        // If the outcome is unknown, the row is claimed again, and the attempt counts.
        report('running a message of a trigger', error);
      } else if (await this.#mayStillRun(item, ageMs, error)) {
        await rows.reschedule(scope, row, (error.retryAfterSeconds ?? 0) * 1_000 || rescheduleMs);
      } else {
        await this.#giveUp(item, { code: error.code, message: error.message });
      }
    } catch (cause) {
      report('rescheduling an inbox message', cause);
      // Nobody else takes it up before the end of its hold.
      runsAgain = cause instanceof StoreError;
    }
    if (runsAgain) this.#beginAgain(again, storeAgainMs);
    else this.#lines.passed(item);
    return 'failed';
  }

  /** Whether a session may accept the turn later, or has it. */
  async #mayStillRun(item: InboxMessage, ageMs: number, error: PlatformError): Promise<boolean> {
    const mayBeAccepted = error.retry === 'later' && error.code !== 'quota_exceeded';
    if (mayBeAccepted && ageMs < patienceMs) return true;
    if ((item.ageMs === 0 && ageMs < patienceMs) || ageMs >= knownPatienceMs) return false;
    // The session runs the turn whatever becomes of the message, and its answer would reach nobody.
    return error instanceof TurnWaits || this.#parts.turns.isKnown(item);
  }

  /**
   * Retry on this node, in its place. Left to the claim of abandoned rows, the message would wait for a minute and count
   * as a lost process.
   */
  #beginAgain(waiting: WaitingMessage, inMs: number): void {
    const { item } = waiting;
    const hasPlace = this.#lines.pause(waiting);
    this.#retries.add(item);
    const timer = this.#parts.time.after(inMs, () => {
      this.#timers.delete(timer);
      this.#retries.delete(item);
      if (this.#stopped || this.#running.has(item.executionId)) return;
      if (hasPlace) this.#lines.again(waiting);
      else this.#pacer.ask(item.scope.tenantId, waiting);
    });
    this.#timers.add(timer);
  }

  /** Its session has so many that it is not its turn for long, or this process runs nothing more. */
  #giveBack({ item: { scope, row } }: WaitingMessage, pauseMs: number): void {
    if (row === undefined) return;
    this.#parts.rows
      .reschedule(scope, row, pauseMs)
      .catch((error: unknown) => this.#parts.report('giving back an inbox message', error));
  }

  async #giveUp(
    item: InboxMessage,
    { code, message }: { readonly code: ErrorCode; readonly message: string },
  ): Promise<void> {
    const error = { code: spelled(code, 'invocation'), message };
    await this.#completion.giveUp(item, await this.#parts.live.get(item.triggerId), error);
  }

  /** Claims rows that no process holds any more. */
  #claimAbandoned(): Promise<void> {
    return this.#leftBehind.claim(this.#pacer.free);
  }

  async #renewClaims(): Promise<void> {
    const held = this.#held();
    if (held.length > 0) await this.#parts.rows.renewClaims(held, holdMs);
  }

  /** The executions whose messages are in this process's memory. */
  #held(): readonly string[] {
    return [
      ...new Set([
        ...this.#running.keys(),
        ...this.#lines.executionIds(),
        ...Array.from(this.#retries, ({ executionId }) => executionId),
      ]),
    ];
  }

  async #deleteOld(): Promise<void> {
    let deleted = deletedMax;
    while (deleted === deletedMax && !this.#stopped) {
      deleted = await this.#parts.rows.deleteOld(deletedMax);
    }
  }

  #every(ms: number, attempted: string, action: () => Promise<void>): void {
    const timer = this.#parts.time.after(ms, () => {
      this.#timers.delete(timer);
      void action()
        .catch((error: unknown) => this.#parts.report(attempted, error))
        .finally(() => {
          if (!this.#stopped) this.#every(ms, attempted, action);
        });
    });
    this.#timers.add(timer);
  }
}
