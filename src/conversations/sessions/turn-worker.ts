/**
 * Works on a turn: claims it first, runs it, and ends it with all its results in one transaction. Readers get its
 * end only after the commit.
 */
import { within } from '../../../cluster/index.js';
import { storedAnswer } from '../invocation/index.js';
import { errorKinds } from '../../kernel/errors.js';
import type { RealtimeEventRow } from '../realtime/index.js';
import { type RecordedStep, type TurnEvent, TurnLost, TurnParked, type TurnStart } from '../turns/index.js';
import type { OpenedRow } from '../../models/usage/index.js';
import { approvalEvents, parkTurn, voided } from './approvals.js';
import { type LiveTurn, stepRow } from './live-turn.js';
import type { IfRefused, SessionActivation, SessionActorParts } from './parts.js';
import { boundBy } from './bound-attachments.js';
import type { MessageRow, SessionRow } from './rows.js';
import { endRefused, type StoredTurn } from './refused-turn.js';
import { ended, type Ended, endedRow, failed, lastEvents, logRow, stopped } from './turn-end.js';
import { Summaries } from './summaries.js';
import { change, type SessionState } from './session-state.js';
import { agentOf, refusalOf } from './turn-checks.js';
import { markClaimed, newMessage, turnStart } from './turn-start.js';

/** A reader that follows the turn sends its bindings again at once. After this time none will. */
const bindingsMsMax = 5_000;
/** After its deadline a turn has this long to write its end before its busy stamp expires. */
const stampMarginMs = 30_000;
const bindingsLost = failed('worker_lost', 'The process that held the bindings of this turn ended.');

interface EndOptions {
  readonly realtimeEvents: readonly RealtimeEventRow[];
  /** Whether the turn holds the actor's busy stamp, which its end must free. */
  readonly holdsStamp: boolean;
}

export class TurnWorker {
  readonly #state: SessionState;
  readonly #activation: SessionActivation;
  readonly #parts: SessionActorParts;
  readonly #summaries: Summaries;
  /** The turn that is being worked on, from its first check to its end. */
  #current: LiveTurn | undefined;
  /** True while the last record has not been sent: further rows can join its commit. */
  #recordIsPending = false;
  /** No earlier owner of the session can still be acting. */
  #isClear = false;

  constructor(state: SessionState, activation: SessionActivation, parts: SessionActorParts) {
    this.#state = state;
    this.#activation = activation;
    this.#parts = parts;
    this.#summaries = new Summaries(state, activation, parts);
  }

  /** The activation has ended. */
  stop(): void {
    this.#summaries.stop();
  }

  /** Whether the turn is still in the queue, so that it can end without being run. */
  isQueued(turn: LiveTurn): boolean {
    return turn !== this.#current && (turn.row.status === 'queued' || turn.row.status === 'waiting');
  }

  /** Ends a queued turn at once, together with its realtime events. */
  endQueued(turn: LiveTurn, how: Ended, realtimeEvents: readonly RealtimeEventRow[]): Promise<void> {
    return this.#end(turn, stopped(how, turn), { realtimeEvents, holdsStamp: false });
  }

  /** The session is erased: nothing more is written about these turns. */
  forget(turns: readonly LiveTurn[]): void {
    for (const turn of turns) {
      change(turn, { status: 'cancelled', outcome: 'CANCELLED' });
      turn.abort.abort('lost');
    }
  }

  /** Works on the turn from its present state to its end. */
  async work(turn: LiveTurn): Promise<void> {
    const { address } = this.#activation;
    const workEnds = this.#parts.atWork.add(address.group, {
      sessionId: address.key,
      executionId: turn.row.id,
    });
    this.#current = turn;
    try {
      await this.#work(turn);
    } finally {
      this.#current = undefined;
      workEnds();
    }
  }

  async #work(turn: LiveTurn): Promise<void> {
    const tenant = await this.#parts.tenantAtWork(this.#activation.address.group);
    const session = this.#state.session;
    if (tenant === undefined || session === undefined) return;
    if (tenant.suspended) {
      if (turn.row.cancelled_by === null) change(turn, { cancelled_by: 'operator' });
      return this.#stop(turn, ended('CANCELLED'));
    }
    const refusal = await refusalOf(turn, tenant, session, this.#parts);
    if (refusal !== undefined) return this.#stop(turn, refusal);
    const agent = await agentOf(turn, tenant, this.#parts);
    if (agent === undefined) return this.#stop(turn, failed('agent_not_found', 'The agent was not found.'));
    turn.restoreBindings(this.#parts.unseal);
    if (turn.lacksBindings && !(await this.#awaitBindings(turn))) {
      return this.#stop(turn, bindingsLost);
    }
    if (turn.finished) return;
    // The control mode may have changed since the first check. No await lies between this check and the claim.
    if (this.#state.session?.control_mode !== 'engaged') return this.#stop(turn, ended('SUSPENDED'));
    // The first record joins the claim's commit. Readers get no event before that.
    const claimed = this.#claim(turn, agent);
    const emit = this.#emitter(turn, claimed);
    const start = await turnStart(this.#state, this.#parts, { turn, tenant, agent, claimed });
    const end = await this.#run(turn, start, emit);
    await claimed;
    if (end instanceof TurnParked) return this.#park(turn, end);
    await this.#end(turn, end);
    const { outcome, started_at: startedAt } = turn.row;
    if (outcome === 'COMPLETED' && startedAt !== null) this.#summaries.after(start, startedAt);
  }

  async #run(
    turn: LiveTurn,
    start: TurnStart,
    emit: (event: TurnEvent) => void,
  ): Promise<Ended | TurnParked> {
    try {
      return await this.#parts.turns.run(start, {
        emit,
        record: (steps) => this.#record(turn, steps),
        open: (row) => this.#open(turn, row),
        onBooking: (booked) => this.#awaitLedgerWrite(turn, booked),
        effectsClear: () => this.#effectsClear(turn),
        mayAct: () => !turn.finished && this.#activation.mayAct(),
        signal: turn.abort.signal,
      });
    } catch (error) {
      if (turn.finished) return ended('CANCELLED');
      if (error instanceof TurnParked) return error;
      // Another process owns the turn now; the results of this one are void.
      if (error instanceof TurnLost || !this.#activation.mayAct()) throw error;
      this.#parts.report('running a turn', error);
      return stopped(failed('internal_error', errorKinds.internal_error.message), turn);
    }
  }

  /**
   * Once per activation: a process that leaves the view later cannot have owned the actor before. After an abort the turn
   * ends before its next effect.
   */
  async #effectsClear({ abort: { signal } }: LiveTurn): Promise<void> {
    if (this.#isClear) return;
    try {
      await this.#activation.effectsClear(signal);
      this.#isClear = true;
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  async #awaitBindings(turn: LiveTurn): Promise<boolean> {
    await within(this.#parts.time, bindingsMsMax, turn.bindingsReceived(), () => undefined);
    return !turn.lacksBindings;
  }

  async #claim(turn: LiveTurn, agent: TurnStart['agent']): Promise<void> {
    const deadlineMs = turn.row.input.deadline_ms;
    const resumed = turn.hasBegun;
    const stored = this.#stored(turn);
    const messages = resumed ? [] : this.#addUserMessage(turn);
    markClaimed(turn, agent, { process: this.#activation.process, nowMs: this.#parts.time.wallMs() });
    const { finishedBefore } = await this.#activation.writeKnown(
      { messages, executions: [turn.row], attachments: boundBy(messages) },
      {
        stamp: { set: 'busy', process: this.#activation.process, forMs: deadlineMs + stampMarginMs },
        ifRefused: this.#endRefused(turn, stored),
      },
    );
    if (finishedBefore.has(turn.row.id)) {
      // This activation's memory says that the turn is unfinished, so only a fresh load can be trusted.
      this.#activation.end('failed');
      throw new TurnLost();
    }
    turn.deadlineAtMs = this.#parts.time.monotonicMs() + deadlineMs;
    this.#parts.onTurnBegun(turn.row, resumed ? 'again' : 'first');
    if (!resumed) return;
    turn.sentText = '';
    turn.log.append({ type: 'status', state: 'restarted' });
  }

  #emitter(turn: LiveTurn, claimed: Promise<void>): (event: TurnEvent) => void {
    let early: TurnEvent[] | undefined = [];
    claimed.then(
      () => {
        for (const event of early ?? []) this.#emit(turn, event);
        early = undefined;
      },
      // Another process owns the turn; the caller that awaits the claim gets the error.
      () => undefined,
    );
    return (event) => {
      if (early === undefined) this.#emit(turn, event);
      else early.push(event);
    };
  }

  #emit(turn: LiveTurn, event: TurnEvent): void {
    // Output of an older control epoch is dropped here, whatever its source.
    if (turn.muted || turn.finished) return;
    if (event.type === 'delta') turn.sentText += event.content;
    turn.log.append(event);
  }

  async #record(turn: LiveTurn, steps: readonly RecordedStep[]): Promise<void> {
    if (turn.finished) throw new TurnLost();
    turn.keepSteps(steps);
    const ifRefused = this.#endRefused(turn);
    const written = this.#activation.write(
      { steps: steps.map((step) => stepRow(turn.row, step)) },
      { ifRefused },
    );
    // Writes are sent once the event loop has finished its present work.
    this.#recordIsPending = true;
    this.#parts.time.soon(() => {
      this.#recordIsPending = false;
    });
    await written;
    // If the control mode changed since the claim, the turn ends before it calls a model or a tool.
    if (turn.muted) turn.abort.abort('suspended');
  }

  /** Opens the ledger row in the commit of the steps that were recorded in the same tick. */
  #open(turn: LiveTurn, row: OpenedRow): Promise<void> | undefined {
    if (turn.finished || !this.#recordIsPending) return undefined;
    const ifRefused = this.#endRefused(turn);
    return this.#activation.write({ opened: [row] }, { ifRefused }).then(() => undefined);
  }

  /**
   * The turn's end is written at the same time. A ledger write that fails now is repeated later with these figures.
   */
  #awaitLedgerWrite(turn: LiveTurn, booked: Promise<void>): void {
    turn.ledgerWrites.push(
      booked.catch((error: unknown) =>
        this.#parts.report('recording a model call of a turn in the ledger', error),
      ),
    );
  }

  /** Writes what the turn made so far together with its approvals, and only then shows them to the readers. */
  async #park(turn: LiveTurn, parked: TurnParked): Promise<void> {
    if (turn.finished) return;
    turn.keepSteps(parked.steps);
    if (turn.stoppedAs === undefined) {
      const stored = this.#stored(turn);
      const written = this.#activation.write(
        {
          ...this.#sessionPart(new Date(this.#parts.time.wallMs()).toISOString()),
          ...parkTurn(turn, parked, this.#parts),
          steps: parked.steps.map((step) => stepRow(turn.row, step)),
        },
        { stamp: { set: 'free' }, ifRefused: this.#endRefused(turn, stored) },
      );
      await Promise.all([written, ...turn.ledgerWrites]);
      for (const event of approvalEvents(turn, this.#parts)) turn.log.append(event);
    }
    // Cancelled or taken over in the meantime: nobody else ends a turn that this worker holds.
    const how = turn.stoppedAs;
    if (how !== undefined) await this.#end(turn, { ...stopped(ended(how), turn), steps: parked.steps });
  }

  /** The end of a turn that does not run, or not again. */
  #stop(turn: LiveTurn, how: Ended): Promise<void> {
    return this.#end(turn, stopped(how, turn));
  }

  /** Writes everything that the turn made in one transaction, and only then publishes its end to the readers. */
  async #end(
    turn: LiveTurn,
    given: Ended,
    { realtimeEvents, holdsStamp }: EndOptions = { realtimeEvents: [], holdsStamp: true },
  ): Promise<void> {
    if (turn.finished) return;
    const end: Ended =
      given.outcome === 'COMPLETED' ? { ...given, outcome: turn.stoppedAs ?? 'COMPLETED' } : given;
    const { outcome } = end;
    const kept = outcome === 'SUSPENDED' ? turn.sentText : end.content;
    const begun = turn.hasBegun;
    const finishedAt = new Date(this.#parts.time.wallMs()).toISOString();
    const stored = this.#stored(turn, holdsStamp);
    // A message that waited while the agent was suspended is kept; the message of a denied consumer is not.
    const isPart = begun || outcome === 'SUSPENDED';
    const user = isPart && turn.row.input.message_number === undefined ? this.#addUserMessage(turn) : [];
    const answer = isPart ? this.#addAnswer(turn, kept, end) : [];
    const tail = turn.log.prepare(lastEvents(turn.row, end, turn.muted));
    const input = { ...turn.row.input, last_event: tail.at(-1)?.id };
    change(turn, { ...endedRow(end, kept, finishedAt), input });
    const written = this.#activation.write(
      {
        ...(begun ? this.#sessionPart(finishedAt, 1) : this.#sessionPart()),
        messages: [...user, ...answer],
        attachments: boundBy(user),
        executions: [turn.row],
        approvals: voided(turn, finishedAt),
        steps: end.steps.map((step) => stepRow(turn.row, step)),
        logs: [logRow(turn.row, [...turn.visibleEvents(), ...tail], this.#parts.time.wallMs())],
        realtimeEvents,
      },
      {
        // Otherwise another turn may be running under the stamp.
        ...(holdsStamp && { stamp: { set: 'free' } as const }),
        ifRefused: this.#endRefused(turn, stored),
      },
    );
    const shown = Promise.all([written, ...turn.ledgerWrites]).then(() => {
      this.#parts.onTurnEnded(turn.row);
      turn.log.publish(tail);
      turn.log.close();
    });
    turn.ending = shown.catch(() => undefined); // `await shown` reports a failure.
    await shown;
    this.#state.ended(turn);
  }

  /** What follows if the store refuses a write of the turn for good. */
  #endRefused(turn: LiveTurn, stored = this.#stored(turn)): IfRefused {
    return (activation, error) => endRefused(turn, stored, { activation, parts: this.#parts, error });
  }

  /** What the store has of the turn before its next write. */
  #stored(turn: LiveTurn, holdsStamp = true): StoredTurn {
    const { row, approvals, hasBegun } = turn;
    return { row, approvals, session: hasBegun ? this.#counted(undefined) : undefined, holdsStamp };
  }

  #addUserMessage(turn: LiveTurn): readonly MessageRow[] {
    const { row } = turn;
    const message = {
      ...this.#message(turn, 'user', row.input.message),
      attachments: row.input.attachments ?? [],
      declared_context: row.input.declared_context,
    };
    this.#append(message);
    change(turn, { input: { ...row.input, message_number: message.number } });
    return [message];
  }

  #addAnswer(turn: LiveTurn, content: string, end: Ended): readonly MessageRow[] {
    const answer = storedAnswer(content, end.blocks);
    if (answer.content === '') return [];
    const partial = end.outcome === 'COMPLETED' ? {} : { partial: true };
    const message = {
      ...this.#message(turn, 'assistant', answer.content),
      metadata: { ...answer.metadata, ...partial },
    };
    this.#append(message);
    return [message];
  }

  #message(turn: LiveTurn, role: MessageRow['role'], content: string): MessageRow {
    return newMessage(this.#state, this.#parts, turn, role, content);
  }

  #append(message: MessageRow): void {
    const { session } = this.#state;
    if (session === undefined) return;
    this.#state.session = { ...session, last_message: message.number, last_interaction: message.created_at };
    this.#state.remember([message]);
  }

  /** A turn's end and its wait are interactions, also without an answer: lists are read by what changed a moment ago. */
  #sessionPart(interactedAt?: string, endedTurns = 0): { readonly session?: SessionRow } {
    const session = this.#counted(interactedAt, endedTurns);
    if (session === undefined) return {};
    this.#state.session = session;
    return { session };
  }

  #counted(interactedAt: string | undefined, endedTurns = 1): SessionRow | undefined {
    const { session } = this.#state;
    if (session === undefined) return undefined;
    const last_interaction = interactedAt ?? session.last_interaction;
    return { ...session, total_turns: session.total_turns + endedTurns, last_interaction };
  }
}
