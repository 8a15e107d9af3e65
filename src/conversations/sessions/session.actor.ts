/**
 * The session's actor: the only writer of one conversation. Turns run one at a time in the order of their arrival.
 * Other calls on a running turn (cancel, a change of the control mode, readers) do not wait for it.
 */
import {
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
  type AppendResponse,
  type CancelRequest,
  type CancelResponse,
  type ControlRequest,
  type ControlResponse,
  type DecideRequest,
  type DecideResponse,
  type ErasePersonRequest,
  type EraseRequest,
  type FollowRequest,
  type FollowResponse,
  type OpenRequest,
  type OpenResponse,
  type PassedRequest,
  type RenameRequest,
  type RunRequest,
  type RunResponse,
  SessionServiceDefinition,
  type WatchRequest,
  type WatchResponse,
} from '../../../generated/troupe/actors/v1/session.js';
import { identityAfter } from '../invocation/index.js';
import { PlatformError } from '../../kernel/errors.js';
import { approvalEvents, decide, expire } from './approvals.js';
import { EndingActivation } from './ending-activation.js';
import { acceptTurn, beforeEntering, newSession, touchesOf } from './turn-queue.js';
import { changeControl } from './session-control.js';
import { elsewhere, follow, goneElsewhere, type NewReader } from './event-reader.js';
import type { LiveTurn } from './live-turn.js';
import type { PlainActivation, SessionActivation, SessionActorParts, SessionService } from './parts.js';
import { noteHandover } from './handover.js';
import { asActorError } from './refusals.js';
import type { RealtimeEventRow } from '../realtime/index.js';
import type { ExecutionRow, SessionLoad, SessionLoaded, SessionWrite, SessionWritten } from './rows.js';
import type { RequestedTurn } from './requests.js';
import { erasePerson, eraseSession } from './erasure.js';
import { append } from './session-append.js';
import { overviewOf } from './session-overview.js';
import { change, SessionState } from './session-state.js';
import { ended } from './turn-end.js';
import { watch, watchOn } from './session-watch.js';
import { TurnWorker } from './turn-worker.js';
import {
  appendFromWire,
  controlFromWire,
  decisionFromWire,
  openFromWire,
  overviewToWire,
} from './wire/session-requests.js';
import type { TurnEventsMessage } from './wire/turn-events.js';
import { turnFromWire } from './wire/turns.js';

/** Enough for a full queue of turns. Unfinished ones are found again by their rows. */
const workDeadlineMs = 3_600_000;
const askAgainMs = 1_000;

export type SessionCommits = GroupCommit<SessionLoad, SessionLoaded, SessionWrite, SessionWritten>;

export function sessionActor(commits: SessionCommits, parts: SessionActorParts): ActorKindOf<SessionService> {
  return durableActor({
    service: SessionServiceDefinition,
    methods: {
      open: { lane: 'control', idempotent: true },
      run: {
        lane: 'control',
        resume: (input, last) => ({ ...knownTurn(input), after: readUntil(last) ?? input.after }),
      },
      accept: { lane: 'control', idempotent: true },
      follow: {
        lane: 'control',
        resume: (input, last) => ({ ...input, after: readUntil(last) ?? input.after }),
      },
      // The row holds the work: a repeated call does nothing if there is none.
      work: { idempotent: true },
      cancel: { lane: 'control', idempotent: true },
      control: { lane: 'control' },
      decide: { lane: 'control' },
      passed: { lane: 'control', idempotent: true },
      append: { lane: 'control', idempotent: true },
      rename: { lane: 'control', idempotent: true },
      watch: { lane: 'control', resume: watchOn },
      erase: { lane: 'control', idempotent: true },
      erasePerson: { lane: 'control', idempotent: true },
    },
    commits,
    load: ({ group, key }) => ({ tenantId: group, sessionId: canonical(key) }),
    create: (activation) => new SessionActor(activation, parts),
  });
}

/**
 * The store finds a session by an id in either case, but each spelling is an actor of its own: two of them would work on
 * the same turns and messages, without a fence between them.
 */
function canonical(sessionId: string): string {
  if (sessionId === sessionId.toLowerCase()) return sessionId;
  throw new TypeError(`The session id ${sessionId} must be in lower case`);
}

/** The last event that a reader has. A message may hold none, and a process of version 0.1 does not tell it. */
function readUntil({ after, events }: TurnEventsMessage): number | undefined {
  return after === 0 ? events.at(-1)?.id : after;
}

class SessionActor {
  readonly #activation: SessionActivation;
  readonly #parts: SessionActorParts;
  readonly #state: SessionState;
  readonly #worker: TurnWorker;
  #isLeaving = false;
  #isAsking = false;

  constructor(activation: PlainActivation, parts: SessionActorParts) {
    this.#activation = new EndingActivation(activation, parts.time);
    this.#parts = parts;
    this.#state = new SessionState(activation.loaded, activation.epoch, parts.time, (bytes) =>
      activation.holds(bytes),
    );
    this.#worker = new TurnWorker(this.#state, this.#activation, parts);
    for (const turn of this.#state.queue) {
      if (turn.row.status !== 'waiting') continue;
      for (const event of approvalEvents(turn, parts)) turn.log.append(event);
    }
    if (this.#state.next !== undefined) this.#askForWork();
  }

  open(message: OpenRequest): Promise<OpenResponse> {
    return refusing(async () => {
      const request = openFromWire(message);
      const unnamed = { consumerDisplayName: undefined, nameInferred: false };
      const contactName = await this.#beforeEntering({ ...request, ...unnamed });
      const { session } = this.#state;
      const now = new Date(this.#parts.time.wallMs()).toISOString();
      if (session !== undefined && session.agent_id !== request.agentId)
        throw new PlatformError('conflict', {
          message: 'The session belongs to another agent. Leave session_id out to start a new one.',
        });
      const base = session ?? newSession(this.#activation, request, now);
      const opened = {
        ...base,
        consumer_key: identityAfter(base.consumer_key, request.consumerKey),
        consumer_display_name: base.consumer_display_name ?? contactName ?? null,
        metadata: request.metadata,
      };
      this.#state.session = opened;
      await this.#activation.write({
        session: opened,
        touches: touchesOf(
          opened,
          opened.consumer_key ?? undefined,
          { name: undefined, inferred: false },
          now,
        ),
      });
      return overviewToWire(overviewOf(opened));
    });
  }

  async *run({ turn: wanted, after, follower }: RunRequest, call: Call): AsyncGenerator<RunResponse> {
    const turn = await refusing(() => this.#accept(turnFromWire(wanted)));
    if (turn === 'elsewhere') yield elsewhere;
    else yield* this.#follow(turn, { after, follower, joined: false }, call);
  }

  async accept({ turn }: AcceptRequest): Promise<{ elsewhere: boolean }> {
    const accepted = await refusing(() => this.#accept(turnFromWire(turn)));
    return { elsewhere: accepted === 'elsewhere' };
  }

  /** No generator, which would refuse a reader only after its stream has begun. */
  follow({ executionId, after, follower }: FollowRequest, call: Call): AsyncGenerator<FollowResponse> {
    const turn = this.#state.turn(executionId);
    if (turn === undefined) return goneElsewhere();
    this.#state.readers.admit(follower);
    return this.#follow(turn, { after, follower, joined: true }, call);
  }

  async work(): Promise<{ ended: number }> {
    const [turn] = this.#state.queue;
    if (turn === undefined) return { ended: 0 };
    // The turn may repeat one that ended before this activation began, which only the store can tell. For a new
    // session, the claim and the first step go into the transaction that accepts the turn.
    if (!this.#state.knowsAllEnded) await turn.accepted;
    if (this.#state.turn(turn.row.id) !== turn) return { ended: 1 };
    if (turn.row.status === 'waiting' && !(await expire(turn, this.#activation, this.#parts)))
      return { ended: 0 };
    await this.#worker.work(turn);
    return { ended: 1 };
  }

  cancel({ by, executionId }: CancelRequest): Promise<CancelResponse> {
    return refusing(async () => {
      const turn =
        executionId === undefined
          ? (this.#state.running ?? this.#state.queue[0])
          : this.#state.queue.find(({ row }) => row.id === executionId);
      if (turn === undefined) return nothingCancelled;
      await turn.accepted;
      if (turn.finished || this.#state.turn(turn.row.id) !== turn) return nothingCancelled;
      const realtimeEvents = turn.row.cancelled_by === null ? [this.#cancelledEvent(turn.row, by)] : [];
      change(turn, { cancelled_by: by });
      if (this.#worker.isQueued(turn)) await this.#worker.endQueued(turn, ended('CANCELLED'), realtimeEvents);
      else {
        await this.#activation.write({ executions: [turn.row], realtimeEvents });
        turn.abort.abort('cancelled');
        // It stopped to wait for people during the write, so that nothing of it heard the abort.
        if (this.#worker.isQueued(turn)) await this.#worker.endQueued(turn, ended('CANCELLED'), []);
      }
      // Others may have waited behind one that waited for people.
      if (this.#state.next !== undefined) this.#askForWork();
      return { executionId: turn.row.id };
    });
  }

  #cancelledEvent({ id, tenant_id, session_id }: ExecutionRow, by: string): RealtimeEventRow {
    const data = { session_id: session_id ?? '', execution_id: id, by };
    return { tenant_id, id: this.#parts.newId(), type: 'turn_cancelled', data };
  }

  control(message: ControlRequest): Promise<ControlResponse> {
    return refusing(async () => {
      const request = controlFromWire(message);
      const session = await changeControl(this.#state, this.#activation, this.#parts, this.#worker, request);
      // Those behind a turn that waited end as well, so that their messages are seen.
      if (this.#state.next !== undefined) this.#askForWork();
      return overviewToWire(overviewOf(session));
    });
  }

  decide(message: DecideRequest): Promise<DecideResponse> {
    return refusing(async () => {
      await decide(this.#state, this.#activation, this.#parts, decisionFromWire(message));
      if (this.#state.next !== undefined) this.#askForWork();
      return {};
    });
  }

  passed({ follower, barrier }: PassedRequest): Record<string, never> {
    this.#state.readers.passed(follower, barrier);
    return {};
  }

  append(message: AppendRequest): Promise<AppendResponse> {
    return refusing(() => append(this.#state, this.#activation, this.#parts, appendFromWire(message)));
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

  watch(from: WatchRequest, call: Call): AsyncGenerator<WatchResponse> {
    this.#state.admitWatcher();
    return watch(this.#state, from, call, () => this.#isLeaving);
  }

  async erase({ unusedSinceMs }: EraseRequest): Promise<{ erased: boolean }> {
    if (unusedSinceMs !== undefined && this.#state.isUsedSince(unusedSinceMs)) return { erased: false };
    return { erased: await eraseSession(this.#state, this.#activation, this.#worker) };
  }

  async erasePerson({ consumerKey }: ErasePersonRequest): Promise<{ whole: boolean }> {
    const how = await erasePerson(this.#state, this.#activation, this.#parts, this.#worker, consumerKey);
    if (how === 'alone') return { whole: await eraseSession(this.#state, this.#activation, this.#worker) };
    if (this.#state.next !== undefined) this.#askForWork();
    return { whole: false };
  }

  /** The actor will move: readers of queued turns follow them to the new owner. */
  [leaving](): void {
    this.#isLeaving = true;
    noteHandover(this.#state, this.#activation, this.#parts);
    for (const turn of this.#state.allTurns()) turn.log.wake();
    this.#state.wake();
  }

  [deactivated](_reason: EndReason): void {
    this.#worker.stop();
    this.#state.end();
    for (const turn of this.#state.allTurns()) turn.abort.abort('lost');
  }

  async #accept(wanted: RequestedTurn): Promise<LiveTurn | 'elsewhere'> {
    const entering = this.#beforeEntering(wanted);
    const contactName = entering === undefined ? undefined : await entering;
    const accepted = acceptTurn(this.#state, this.#activation, this.#parts, wanted, contactName);
    // Called before the commit, so that the first writes of a turn that need not wait go into the same commit.
    if (this.#state.next !== undefined) this.#askForWork();
    return accepted;
  }

  #beforeEntering(wanted: Parameters<typeof beforeEntering>[3]): Promise<string | undefined> | undefined {
    return beforeEntering(this.#state, this.#activation, this.#parts, wanted);
  }

  #follow(turn: LiveTurn, reader: NewReader, call: Call): AsyncGenerator<TurnEventsMessage> {
    const { readers } = this.#state;
    const { time } = this.#parts;
    return follow({ turn, ...reader, readers, time, leaving: () => this.#isLeaving }, call);
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
        if (!this.#activation.mayAct() || this.#state.next === undefined) return;
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

const nothingCancelled: CancelResponse = { executionId: undefined };

/** Passes platform errors to the caller with their code. */
async function refusing<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw asActorError(error);
  }
}
