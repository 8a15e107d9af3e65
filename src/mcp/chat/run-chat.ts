import {
  type Admission,
  type IdempotentRequests,
  type Repeat,
  validKey,
} from '../../http/operations/index.js';
import {
  chatToolFields,
  type Invocation,
  privilegesOf,
  readInvocation,
} from '../../conversations/invocation/index.js';
import type { ChatTurn, ChatTurns } from '../../conversations/sessions/index.js';
import type { TenantCaller } from '../../kernel/caller.js';
import { type ErrorCode, PlatformError } from '../../kernel/errors.js';
import { isUuid } from '../../kernel/uuid.js';
import { missingArgument } from '../tools/input-plan.js';
import type { Answer, Arguments } from '../tools/tool.js';
import { TurnReader, type TurnResult } from './turn-reader.js';

/** The limit of a turn over MCP. */
const deadlineMs = 180_000;
const channel = 'mcp';

export interface ChatRunnerParts {
  readonly chats: ChatTurns;
  readonly requests: IdempotentRequests;
  readonly admission: Admission;
  readonly report: (attempted: string, error: unknown) => void;
}

export interface ChatRequest {
  readonly caller: TenantCaller;
  /** Aborts when the client cancels or closes its request. */
  readonly signal: AbortSignal;
  readonly idempotencyKey: string | undefined;
  readonly onProgress: (message: string) => void;
}

export interface ChatAnswer {
  readonly answer: Answer;
  readonly isError: boolean;
}

/** Runs `chat_with_agent`: a turn of the session's actor, like one of the stream. */
export class ChatRunner {
  readonly #parts: ChatRunnerParts;

  constructor(parts: ChatRunnerParts) {
    this.#parts = parts;
  }

  async run({ agent_id: agentId, ...fields }: Arguments, request: ChatRequest): Promise<ChatAnswer> {
    const { signal, idempotencyKey } = request;
    if (agentId === undefined) throw missingArgument('agent_id');
    if (typeof agentId !== 'string' || !isUuid(agentId)) throw new PlatformError('agent_not_found');
    const turn = await this.#begun(agentId.toLowerCase(), fields, request);
    const entered = await turn.enter();
    const { onProgress } = request;
    const reader = new TurnReader({ left: signal, onProgress, waits: () => turn.waits() });
    const { isDone } = await entered.sendTo(reader);
    // The person who decides on a call need not be the client, which may have left for the time that this takes.
    const waits = reader.result.approvalId !== undefined;
    if (!isDone && !waits && signal.aborted) await this.#leave(turn, idempotencyKey);
    return answerOf(turn, reader.result);
  }

  /** A repeat with the same idempotency key follows the turn that the first request began. */
  async #begun(agentId: string, fields: Arguments, request: ChatRequest): Promise<ChatTurn> {
    const { caller, idempotencyKey, signal } = request;
    const invocation = readInvocation(fields, privilegesOf(caller), chatToolFields);
    if (idempotencyKey === undefined) return this.#begin(caller, agentId, invocation, undefined);
    const begun = await this.#parts.requests.begin({
      caller,
      operation: 'mcp.chat_with_agent',
      key: validKey(idempotencyKey, '_meta.idempotency_key'),
      input: { agentId, fields },
      leaving: signal,
    });
    const { seed } = begun;
    if (begun.state === 'answered') {
      const wanted = { invocation, channel, deadlineMs };
      return this.#parts.chats.beginOnce(caller, agentId, { seed, isAnswered: true }, wanted);
    }
    try {
      const turn = await this.#begin(caller, agentId, invocation, { seed, isAnswered: false });
      await this.#settled(begun.keep(null));
      return turn;
    } catch (error) {
      // The turn may have begun all the same; the same ids let a repeat find it.
      await this.#settled(begun.release(true));
      throw error;
    }
  }

  /** The caller has its turn, or its refusal, in any case. Without a hold a repeat takes the request over after a while. */
  #settled(write: Promise<void>): Promise<void> {
    return write.catch((error: unknown) =>
      this.#parts.report('ending the hold of a call with an idempotency key', error),
    );
  }

  async #begin(
    caller: TenantCaller,
    agentId: string,
    invocation: Invocation,
    repeat: Repeat | undefined,
  ): Promise<ChatTurn> {
    const { refusal } = await this.#parts.admission.admitModelWork(caller);
    if (refusal !== undefined) throw refusal;
    return this.#parts.chats.beginOnce(caller, agentId, repeat, { invocation, channel, deadlineMs });
  }

  /** Without a key no later request can join the turn, so it ends with its caller. */
  async #leave(turn: ChatTurn, idempotencyKey: string | undefined): Promise<void> {
    if (idempotencyKey !== undefined) return;
    await turn
      .cancel()
      .catch((error: unknown) => this.#parts.report('cancelling the turn of a client that left', error));
  }
}

function answerOf({ sessionId, executionId }: ChatTurn, result: TurnResult): ChatAnswer {
  const ids = { session_id: sessionId, execution_id: executionId };
  if (result.outcome === 'TIMEOUT') {
    const message = `The turn reached its limit (${result.timeoutClock ?? 'turn'}). Read what it did with get_execution.`;
    return refusal('TURN_TIMEOUT' satisfies ErrorCode, message, {
      ...ids,
      timed_out: true,
      timeout_clock: result.timeoutClock ?? 'turn',
    });
  }
  // An error beside it is of the connection to the turn, which waits all the same.
  if (result.outcome === undefined && result.approvalId !== undefined) {
    const message =
      'The turn waits for a person to approve the call of a tool. Read its outcome with get_execution.';
    return refusal('approval_pending' satisfies ErrorCode, message, {
      ...ids,
      approval_id: result.approvalId,
    });
  }
  if (result.outcome === 'FAILED' || result.outcome === undefined) {
    const { code, message } = result.error ?? {
      code: 'service_unavailable',
      message: 'The turn did not report its end. Read its outcome with get_execution.',
    };
    return refusal(code, message, {
      ...ids,
      ...(result.outcome === undefined ? {} : { outcome: result.outcome }),
    });
  }
  return {
    isError: false,
    answer: {
      text: result.text,
      ...(result.parsed === undefined ? {} : { parsed: result.parsed }),
      ...ids,
      outcome: result.outcome,
      timed_out: false,
      timeout_clock: result.timeoutClock,
      accepted_fields: result.acceptedFields,
      ignored_fields: result.ignoredFields,
      usage: result.usage,
    },
  };
}

function refusal(error: string, message: string, rest: Answer): ChatAnswer {
  return { isError: true, answer: { error, message, ...rest, status: 'error' } };
}
