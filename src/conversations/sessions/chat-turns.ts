/** Turns of a chat with an agent, for every interface that offers one: begins them, follows them, cancels them. */
import type { Time } from '../../../cluster/index.js';
import type { RunnableAgent } from '../../agents/index.js';
import { activeTraceparent } from '../../infra/diagnostics/index.js';
import { type ReadPart, userPartOf } from '../../models/parts/index.js';
import type { AnswerFit } from '../../models/response-format/index.js';
import type { Attachments } from '../attachments/index.js';
import { actorOf, type TenantCaller } from '../../kernel/caller.js';
import { PlatformError } from '../../kernel/errors.js';
import {
  authorFrom,
  continuesOwnSessionsOnly,
  derivedSessionId,
  type IgnoredField,
  type Invocation,
} from '../invocation/index.js';
import type { Repeat, StreamWriter } from '../../http/operations/index.js';
import type { LeaveSignal } from '../../kernel/leave-signal.js';
import { suggestsReplies } from '../turns/index.js';
import type { AgentAdmission } from './agent-admission.js';
import { EventPump, type PumpSource } from './event-pump.js';
import type { ReadExecution } from './reads.store.js';
import type { Openable, Sessions, WantedTurn } from './sessions.js';

export interface ChatTurnsParts {
  readonly sessions: Sessions;
  readonly admission: AgentAdmission;
  readonly attachments: Pick<Attachments, 'read' | 'keep' | 'drop'>;
  readonly fit: Pick<AnswerFit, 'examine'>;
  readonly time: Time;
  /** Aborts when the node is stopping: the streams of turns that wait for a person end. */
  readonly stopping: LeaveSignal;
  readonly newId: () => string;
}

export interface WantedChat {
  readonly invocation: Invocation;
  readonly channel: string;
  /** The limit of the turn; an option of the caller can only shorten it. */
  readonly deadlineMs: number;
  /** The ids of the execution and of a new session; random by default. Fixed ids make a repeated request the same turn. */
  readonly ids?: { readonly executionId: string; readonly sessionId: string };
}

/** A turn that a caller follows. */
export interface ChatTurn {
  readonly sessionId: string;
  readonly executionId: string;
  /** Asks its session for the events. Rejects if the session refuses the reader. */
  enter(): Promise<EnteredTurn>;
  /** Whether a person has yet to decide on a call of it. */
  waits(): Promise<boolean>;
  cancel(): Promise<void>;
}

export interface EnteredTurn {
  /** Sends the events until the turn has ended or the reader has gone. Never rejects. */
  sendTo(writer: StreamWriter): Promise<{ readonly isDone: boolean }>;
}

export class ChatTurns {
  readonly #parts: ChatTurnsParts;

  constructor(parts: ChatTurnsParts) {
    this.#parts = parts;
  }

  /** Adds the turn to its session's queue. Rejects if it is refused. */
  async begin(caller: TenantCaller, agentId: string, wanted: WantedChat): Promise<ChatTurn> {
    const { sessions, newId } = this.#parts;
    const { agent, read } = await this.#admitted(caller, agentId, wanted.invocation);
    const bare = this.#wantedTurn(caller, agent, wanted);
    const turn = await this.#withAttachments(bare, read);
    const follower = newId();
    const begun = sessions.begin(turn, follower);
    const events = await begun.catch(async (error: unknown) => {
      await this.#dropAttachments(turn, error);
      throw error;
    });
    return this.#turn(caller, { ...turn, follower, after: 0 }, () => events);
  }

  /**
   * The turn of an `Idempotency-Key`: the first request begins it, and repeats follow it from its first event. The ids
   * come from the key's seed, so a repeat after a crash cannot begin it twice.
   */
  async beginOnce(
    caller: TenantCaller,
    agentId: string,
    repeat: Repeat | undefined,
    wanted: Omit<WantedChat, 'ids'>,
  ): Promise<ChatTurn> {
    if (repeat === undefined) return this.begin(caller, agentId, wanted);
    const execution = await this.#parts.sessions.known(caller.scope, repeat.seed);
    if (execution !== undefined) return this.follow(caller, execution, 0);
    if (repeat.isAnswered) {
      throw new PlatformError('not_found', { message: 'The turn of this Idempotency-Key was deleted.' });
    }
    const ids = { executionId: repeat.seed, sessionId: repeat.seed };
    return this.begin(caller, agentId, { ...wanted, ids });
  }

  /** Everything that can refuse the turn before anything is stored. */
  async #admitted(
    caller: TenantCaller,
    agentId: string,
    { attachments: given, responseFormat }: Invocation,
  ): Promise<{ readonly agent: RunnableAgent; readonly read: readonly ReadPart[] }> {
    const { admission, attachments, fit } = this.#parts;
    const { scope } = caller;
    // An unknown agent is refused before addresses are asked.
    if (given.length > 0 || responseFormat !== undefined) await admission.agentFor(caller, agentId);
    if (responseFormat !== undefined) {
      const field = 'options.response_format.json_schema.schema';
      await fit.examine(scope, responseFormat.json_schema.schema, field);
    }
    const read = given.length === 0 ? [] : await attachments.read(scope, given);
    return { agent: await admission.admit(caller, agentId, read.map(userPartOf)), read };
  }

  async #withAttachments(turn: WantedTurn, read: readonly ReadPart[]): Promise<WantedTurn> {
    if (read.length === 0) return turn;
    const kept = await this.#parts.attachments.keep(turn.scope, turn.sessionId, read);
    return { ...turn, input: { ...turn.input, attachments: kept } };
  }

  /** A turn that may have been accepted keeps them: only a refusal is certain. */
  async #dropAttachments({ scope, input }: WantedTurn, error: unknown): Promise<void> {
    const refs = input.attachments ?? [];
    if (refs.length === 0 || !(error instanceof PlatformError) || error.retry !== 'never') return;
    await this.#parts.attachments.drop(scope, refs);
  }

  /**
   * Follows a turn that has begun, from the event after the given one. Asks its session only when it is entered, which a HEAD
   * request does not do: a reader that nobody ends would delay every handoff.
   */
  follow(caller: TenantCaller, execution: ReadExecution, after: number): ChatTurn {
    const { sessions, newId } = this.#parts;
    const follower = newId();
    const sessionId = execution.session_id ?? '';
    const events = (): AskedEvents =>
      execution.outcome === null
        ? sessions.follow(caller.scope, sessionId, execution.id, after, follower)
        : finished();
    return this.#turn(caller, { sessionId, executionId: execution.id, follower, after }, events);
  }

  #wantedTurn(
    caller: TenantCaller,
    agent: RunnableAgent,
    { invocation, channel, deadlineMs, ids }: WantedChat,
  ): WantedTurn {
    const { newId } = this.#parts;
    const { acceptedFields, ignoredFields } = fieldsAt(agent, invocation, deadlineMs);
    const traceparent = activeTraceparent();
    return {
      scope: caller.scope,
      sessionId: sessionOf(invocation, agent.id) ?? ids?.sessionId ?? newId(),
      mustExist: invocation.sessionId !== undefined,
      ownSessionsOnly: continuesOwnSessionsOnly(caller),
      agentId: agent.id,
      executionId: ids?.executionId ?? newId(),
      channel,
      consumerKey: invocation.consumerKey,
      consumerDisplayName: invocation.consumerDisplayName,
      nameInferred: false,
      input: {
        message: invocation.message,
        ...(invocation.responseFormat === undefined ? {} : { response_format: invocation.responseFormat }),
        author:
          invocation.consumerKey === undefined
            ? authorFrom(caller)
            : { kind: 'consumer', id: invocation.consumerKey },
        declared_context: invocation.declaredContext,
        accepted_fields: acceptedFields,
        ignored_fields: ignoredFields,
        quick_replies: invocation.capabilities.quickReplies,
        role: caller.role,
        ...(traceparent === undefined ? {} : { traceparent }),
      },
      context: invocation.context,
      bindings: invocation.bindings,
      metadata: invocation.metadata,
      keyId: caller.kind === 'key' ? caller.keyId : null,
      userId: caller.kind === 'key' ? null : caller.userId,
      triggerId: undefined,
      deadlineMs: Math.min(deadlineMs, invocation.timeoutMs ?? deadlineMs),
    };
  }

  #turn(
    caller: TenantCaller,
    { sessionId, executionId, follower, after }: FollowedTurn,
    ask: () => AskedEvents,
  ): ChatTurn {
    const { sessions, time, stopping } = this.#parts;
    const { scope } = caller;
    return {
      sessionId,
      executionId,
      enter: async () => {
        const events = ask();
        await events.opened?.();
        return {
          sendTo: async (writer) => {
            const pump = new EventPump(writer, time, stopping, after);
            await pump.run({
              events,
              confirmDropped: (barrier) => sessions.passed(scope, sessionId, follower, barrier),
              stored: (last) => sessions.stored(scope, executionId, last),
            });
            return { isDone: pump.isDone };
          },
        };
      },
      waits: async () => (await sessions.execution(scope, executionId)).status === 'waiting',
      cancel: async () => void (await sessions.cancel(scope, sessionId, actorOf(caller), executionId)),
    };
  }
}

/** Those of a turn that has just begun, or that has ended, are open. */
type AskedEvents = PumpSource['events'] & Partial<Pick<Openable<unknown>, 'opened'>>;

interface FollowedTurn {
  readonly sessionId: string;
  readonly executionId: string;
  readonly follower: string;
  readonly after: number;
}

/**
 * The fields with an effect and those without. The body alone does not tell this of two: capabilities need an agent that
 * suggests replies, and a requested deadline must not be later than the turn's.
 */
function fieldsAt(
  { snapshot }: RunnableAgent,
  { acceptedFields, ignoredFields, capabilities, responseFormat, timeoutMs }: Invocation,
  deadlineMs: number,
): Pick<Invocation, 'acceptedFields' | 'ignoredFields'> {
  const inVain = new Map<string, string>();
  if (capabilities.quickReplies && !suggestsReplies(snapshot, responseFormat))
    inVain.set('capabilities', 'capabilities.blocks.quick_replies');
  if (timeoutMs !== undefined && timeoutMs > deadlineMs)
    inVain.set('options.timeout_ms', 'options.timeout_ms');
  return {
    acceptedFields: acceptedFields.filter((field) => !inVain.has(field)),
    ignoredFields: [
      ...ignoredFields,
      ...Array.from(inVain.values(), (field): IgnoredField => ({ field, reason: 'not_supported' })),
    ],
  };
}

function sessionOf({ sessionId, derivedFrom }: Invocation, agentId: string): string | undefined {
  return sessionId ?? (derivedFrom === undefined ? undefined : derivedSessionId(agentId, derivedFrom));
}

/** The answer of an owner that no longer has the turn in memory: the store has the rest. */
async function* finished() {
  yield { events: [], deadlineInMs: 0, barrier: 0, elsewhere: true, after: 0 };
  return undefined;
}
