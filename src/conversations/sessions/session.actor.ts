/**
 * The session's actor: the only writer of one conversation. Turns run one at a time in the order of their arrival.
 * Other calls on a running turn (cancel, a change of the control mode, readers) do not wait for it.
 */
import {
  ActorError,
  type ActorKindOf,
  type Call,
  deactivated,
  durableActor,
  type EndReason,
  type GroupCommit,
  leaving,
} from '../../../cluster/index.js';
import {
  type AcceptRequest,
  type AppendRequest,
  type CancelRequest,
  type CancelResponse,
  type ControlRequest,
  type FollowRequest,
  type FollowResponse,
  type OpenRequest,
  type PassedRequest,
  type RenameRequest,
  type RunRequest,
  type RunResponse,
  SessionServiceDefinition,
  type WatchResponse,
} from '../../../generated/troupe/actors/v1/session.js';
import { type Author, identityAfter } from '../invocation/index.js';
import { PlatformError } from '../../kernel/errors.js';
import { EndingActivation } from './ending-activation.js';
import { acceptTurn, beforeEntering, given, newSession, touchesOf } from './turn-queue.js';
import { changeControl } from './session-control.js';
import { elsewhere, follow } from './event-reader.js';
import type { LiveTurn } from './live-turn.js';
import type { SessionActivation, SessionActorParts, SessionService } from './parts.js';
import { asActorError } from './refusals.js';
import type { RealtimeEventRow } from '../realtime/index.js';
import type {
  ExecutionRow,
  MessageRow,
  SessionLoad,
  SessionLoaded,
  SessionWrite,
  SessionWritten,
} from './rows.js';
import { change, SessionState } from './session-state.js';
import { ended, lastEvents } from './turn-end.js';
import { watch } from './session-watch.js';
import { TurnWorker } from './turn-worker.js';

/** Enough for a full queue of turns. Unfinished ones are found again by their rows. */
const workDeadlineMs = 3_600_000;
const idleMs = 10 * 60_000;
const askAgainMs = 1_000;

export type SessionCommits = GroupCommit<SessionLoad, SessionLoaded, SessionWrite, SessionWritten>;

export function sessionActor(commits: SessionCommits, parts: SessionActorParts): ActorKindOf<SessionService> {
  return durableActor({
    service: SessionServiceDefinition,
    methods: {
      open: { lane: 'control', idempotent: true },
      run: {
        lane: 'control',
        resume: (input, last) => ({ ...knownTurn(input), after: last.events.at(-1)?.id ?? input.after }),
      },
      accept: { lane: 'control', idempotent: true },
      follow: {
        lane: 'control',
        resume: (input, last) => ({ ...input, after: last.events.at(-1)?.id ?? input.after }),
      },
      // The row holds the work: a repeated call does nothing if there is none.
      work: { idempotent: true },
      cancel: { lane: 'control', idempotent: true },
      control: { lane: 'control' },
      passed: { lane: 'control', idempotent: true },
      append: { lane: 'control', idempotent: true },
      rename: { lane: 'control', idempotent: true },
      watch: { lane: 'control', resume: (input) => input },
      erase: { lane: 'control', idempotent: true },
    },
    idleMs,
    commits,
    load: ({ group, key }) => ({ tenantId: group, sessionId: key }),
    create: (activation) => new SessionActor(activation, parts),
  });
}

class SessionActor {
  readonly #activation: SessionActivation;
  readonly #parts: SessionActorParts;
  readonly #state: SessionState;
  readonly #worker: TurnWorker;
  #isLeaving = false;
  #isAsking = false;

  constructor(activation: SessionActivation, parts: SessionActorParts) {
    this.#activation = new EndingActivation(activation);
    this.#parts = parts;
    this.#state = new SessionState(activation.loaded, activation.epoch, parts.time);
    this.#worker = new TurnWorker(this.#state, this.#activation, parts);
    if (this.#state.queue.length > 0) this.#askForWork();
  }

  open(request: OpenRequest): Promise<{ sessionJson: string }> {
    return refusing(async () => {
      const contactName = await this.#beforeEntering({ ...request, nameInferred: false });
      const { session } = this.#state;
      const now = new Date(this.#parts.time.wallMs()).toISOString();
      if (session !== undefined && session.agent_id !== request.agentId)
        throw new PlatformError('conflict', {
          message: 'The session belongs to another agent. Leave session_id out to start a new one.',
        });
      const startedBy = authorOf(request.startedByJson);
      const base = session ?? newSession(this.#activation, { ...request, startedBy }, now);
      const opened = {
        ...base,
        consumer_key: identityAfter(base.consumer_key, given(request.consumerKey)),
        consumer_display_name:
          given(request.consumerDisplayName) ?? base.consumer_display_name ?? contactName ?? null,
        metadata: request.metadataJson === '' ? base.metadata : JSON.parse(request.metadataJson),
      };
      this.#state.session = opened;
      await this.#activation.write({
        session: opened,
        touches: touchesOf(opened, { name: request.consumerDisplayName, inferred: false }, now),
      });
      return { sessionJson: JSON.stringify(opened) };
    });
  }

  async *run({ turn: wanted, after, follower }: RunRequest, call: Call): AsyncGenerator<RunResponse> {
    if (wanted === undefined) throw new ActorError('validation_error', 'The request contains no turn.');
    const turn = await refusing(() => this.#accept(wanted));
    if (turn === 'elsewhere') yield elsewhere;
    else yield* this.#follow(turn, after, follower, call);
  }

  async accept({ turn }: AcceptRequest): Promise<{ elsewhere: boolean }> {
    if (turn === undefined) throw new ActorError('validation_error', 'The request contains no turn.');
    const accepted = await refusing(() => this.#accept(turn));
    return { elsewhere: accepted === 'elsewhere' };
  }

  async *follow(request: FollowRequest, call: Call): AsyncGenerator<FollowResponse> {
    const turn = this.#state.turn(request.executionId);
    if (turn === undefined) yield elsewhere;
    else yield* this.#follow(turn, request.after, request.follower, call);
  }

  async work(): Promise<{ ended: number }> {
    const [turn] = this.#state.queue;
    if (turn === undefined) return { ended: 0 };
    // The turn may repeat one that ended before this activation began, which only the store can tell. For a new
    // session, the claim and the first step go into the transaction that accepts the turn.
    if (!this.#state.knowsAllEnded) await turn.accepted;
    if (this.#state.turn(turn.row.id) === turn) await this.#worker.work(turn);
    return { ended: 1 };
  }

  cancel({ by, executionId }: CancelRequest): Promise<CancelResponse> {
    return refusing(async () => {
      const wanted = given(executionId);
      const turn =
        wanted === undefined
          ? (this.#state.running ?? this.#state.queue[0])
          : this.#state.queue.find(({ row }) => row.id === wanted);
      if (turn === undefined) return { cancelled: false, executionId: '' };
      await turn.accepted;
      if (turn.finished || this.#state.turn(turn.row.id) !== turn)
        return { cancelled: false, executionId: '' };
      const realtimeEvents = turn.row.cancelled_by === null ? [this.#cancelledEvent(turn.row, by)] : [];
      change(turn, { cancelled_by: by });
      if (this.#worker.isQueued(turn)) await this.#worker.endQueued(turn, ended('CANCELLED'), realtimeEvents);
      else {
        await this.#activation.write({ executions: [turn.row], realtimeEvents });
        turn.abort.abort('cancelled');
      }
      return { cancelled: true, executionId: turn.row.id };
    });
  }

  #cancelledEvent({ id, tenant_id, session_id }: ExecutionRow, by: string): RealtimeEventRow {
    const data = { session_id: session_id ?? '', execution_id: id, by };
    return { tenant_id, id: this.#parts.newId(), type: 'turn_cancelled', data };
  }

  #messageSentEvent({ id, tenant_id, session_id }: MessageRow, by: string): RealtimeEventRow {
    const data = { session_id, message_id: id, by };
    return { tenant_id, id: this.#parts.newId(), type: 'manual_message_sent', data };
  }

  control(request: ControlRequest): Promise<{ sessionJson: string }> {
    return refusing(async () => {
      const session = await changeControl(this.#state, this.#activation, this.#parts, request);
      return { sessionJson: JSON.stringify(session) };
    });
  }

  passed({ follower, barrier }: PassedRequest): Record<string, never> {
    this.#state.readers.passed(follower, barrier);
    return {};
  }

  append(request: AppendRequest): Promise<{ createdAt: string }> {
    return refusing(async () => {
      const { session } = this.#state;
      if (session === undefined)
        throw new PlatformError('not_found', { message: 'The session was not found.' });
      const repeated = this.#state.tail.find(({ id }) => id === request.messageId);
      if (repeated !== undefined) return { createdAt: repeated.created_at };
      if (request.mustBeHandedOff && session.control_mode === 'engaged') {
        throw new PlatformError('INVALID_SESSION_STATE', {
          message: 'The agent still controls this session. Take it over first.',
        });
      }
      const message: MessageRow = {
        tenant_id: session.tenant_id,
        session_id: session.id,
        number: session.last_message + 1,
        id: request.messageId,
        role: 'assistant',
        author: authorOf(request.authorJson),
        content: request.content,
        declared_context: null,
        metadata: JSON.parse(request.metadataJson),
        execution_id: null,
        created_at: new Date(this.#parts.time.wallMs()).toISOString(),
      };
      this.#state.session = {
        ...session,
        last_message: message.number,
        last_interaction: message.created_at,
      };
      this.#state.remember([message]);
      await this.#activation.write({
        session: this.#state.session,
        messages: [message],
        realtimeEvents: request.writtenBy === '' ? [] : [this.#messageSentEvent(message, request.writtenBy)],
      });
      return { createdAt: message.created_at };
    });
  }

  rename({ consumerDisplayName }: RenameRequest): Promise<Record<string, never>> {
    return refusing(async () => {
      const { session } = this.#state;
      if (session === undefined) return {};
      this.#state.session = { ...session, consumer_display_name: consumerDisplayName };
      await this.#activation.write({ session: this.#state.session });
      return {};
    });
  }

  watch(_: unknown, call: Call): AsyncGenerator<WatchResponse> {
    return watch(this.#state, call, () => this.#isLeaving);
  }

  /**
   * Turns end with their session, and their readers are told, so that readers do not look for them on another node.
   */
  async erase(): Promise<{ erased: boolean }> {
    const { session, queue } = this.#state;
    if (session === undefined) return { erased: false };
    this.#worker.forget(queue);
    this.#state.session = undefined;
    const erasing = this.#activation.write(
      { erase: { tenant_id: session.tenant_id, id: session.id } },
      { stamp: { set: 'free' } },
    );
    // A request that starts the session anew waits: its rows would be erased with the rest.
    this.#state.erasing = erasing.then(
      () => undefined,
      () => undefined,
    );
    await erasing;
    this.#state.erasing = undefined;
    for (const turn of queue) {
      turn.log.publish(turn.log.prepare(lastEvents(turn.row, ended('CANCELLED'), true)));
      turn.log.close();
    }
    this.#state.forgetAll();
    return { erased: true };
  }

  /** The actor will move: readers of queued turns follow them to the new owner. */
  [leaving](): void {
    this.#isLeaving = true;
    for (const turn of this.#state.allTurns()) turn.log.wake();
    this.#state.wake();
  }

  [deactivated](_reason: EndReason): void {
    this.#worker.stop();
    for (const turn of this.#state.allTurns()) turn.abort.abort('lost');
  }

  async #accept(wanted: NonNullable<RunRequest['turn']>): Promise<LiveTurn | 'elsewhere'> {
    const entering = this.#beforeEntering(wanted);
    const contactName = entering === undefined ? undefined : await entering;
    const accepted = acceptTurn(this.#state, this.#activation, this.#parts, wanted, contactName);
    // Called before the commit, so that the first writes of a turn that need not wait go into the same commit.
    if (this.#state.queue.length > 0) this.#askForWork();
    return accepted;
  }

  #beforeEntering(wanted: Parameters<typeof beforeEntering>[3]): Promise<string | undefined> | undefined {
    return beforeEntering(this.#state, this.#activation, this.#parts, wanted);
  }

  #follow(turn: LiveTurn, after: number, follower: string, call: Call): AsyncGenerator<FollowResponse> {
    const { readers } = this.#state;
    const { time } = this.#parts;
    return follow({ turn, after, follower, readers, time, leaving: () => this.#isLeaving }, call);
  }

  /** One call at a time asks for work. It is an ordinary call, so that running turns keep the actor on this node. */
  #askForWork(): void {
    if (this.#isAsking || !this.#activation.mayAct()) return;
    this.#isAsking = true;
    const { group, key } = this.#activation.address;
    void this.#parts
      .self(group, key)
      .work({}, { deadlineMs: workDeadlineMs })
      .then(
        () => true,
        (error: unknown) => {
          // The session's next owner finds the rows again.
          if (this.#activation.mayAct()) this.#parts.report('working on a turn', error);
          return false;
        },
      )
      .then((worked) => {
        this.#isAsking = false;
        if (!this.#activation.mayAct() || this.#state.queue.length === 0) return;
        // The call may have been refused by a full mailbox; it is repeated later.
        if (worked) this.#askForWork();
        else this.#parts.time.after(askAgainMs, () => this.#askForWork());
      });
  }
}

/**
 * The events that a reader has seen prove that the turn was accepted. It is never started again, nor its session
 * created, and the owner of the session was checked then.
 */
function knownTurn(input: RunRequest): RunRequest {
  if (input.turn === undefined) return input;
  return { ...input, turn: { ...input.turn, mustExist: true, ownSessionsOnly: false } };
}

/** Empty from a node that does not record authors yet. */
function authorOf(json: string): Author | null {
  return json === '' ? null : (JSON.parse(json) as Author);
}

/** Passes platform errors to the caller with their code. */
async function refusing<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw asActorError(error);
  }
}
