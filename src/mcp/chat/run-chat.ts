import { createHash } from 'node:crypto';
import type { Admission } from '../../http/operations/index.js';
import {
  chatToolFields,
  type Invocation,
  privilegesOf,
  readInvocation,
} from '../../conversations/invocation/index.js';
import type { ChatTurn, ChatTurns, Sessions } from '../../conversations/sessions/index.js';
import { actorOf, type TenantCaller } from '../../kernel/caller.js';
import { PlatformError } from '../../kernel/errors.js';
import type { Answer, Arguments } from '../tools/tool.js';
import { TurnReader, type TurnResult } from './turn-reader.js';

/** The limit of a turn over MCP. */
const deadlineMs = 180_000;

export interface ChatRunnerParts {
  readonly chats: ChatTurns;
  readonly sessions: Sessions;
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
    const { caller, signal, idempotencyKey } = request;
    if (typeof agentId !== 'string' || !uuid.test(agentId)) throw new PlatformError('agent_not_found');
    const invocation = readInvocation(fields, privilegesOf(caller), chatToolFields);
    const turn =
      (await this.#joined(agentId, invocation, request)) ?? (await this.#begun(agentId, invocation, request));
    const reader = new TurnReader(signal, request.onProgress);
    const { isDone } = await turn.sendTo(reader);
    if (!isDone && signal.aborted) await this.#leave(turn, idempotencyKey);
    return answerOf(turn, reader.result);
  }

  /** The turn that an earlier request with the same idempotency key began. */
  async #joined(
    agentId: string,
    invocation: Invocation,
    { caller, idempotencyKey }: ChatRequest,
  ): Promise<ChatTurn | undefined> {
    if (idempotencyKey === undefined) return undefined;
    const { executionId } = idsOf(caller, agentId, idempotencyKey);
    const execution = await this.#parts.sessions.execution(caller.scope, executionId).catch(absent);
    if (execution === undefined) return undefined;
    if ((await this.#parts.sessions.messageOf(caller.scope, executionId)) !== invocation.message) {
      throw new PlatformError('idempotency_key_reused', {
        message: 'The idempotency key was used before, with another message.',
        details: { field: '_meta.idempotency_key', issue: 'was used with another message' },
      });
    }
    return this.#parts.chats.follow(caller, execution, 0);
  }

  async #begun(
    agentId: string,
    invocation: Invocation,
    { caller, idempotencyKey }: ChatRequest,
  ): Promise<ChatTurn> {
    const { refusal } = await this.#parts.admission.admitModelWork(caller);
    if (refusal !== undefined) throw refusal;
    return this.#parts.chats.begin(caller, agentId, {
      invocation,
      channel: 'mcp',
      deadlineMs,
      ...(idempotencyKey === undefined ? {} : { ids: idsOf(caller, agentId, idempotencyKey) }),
    });
  }

  /** Without a key no later request can join the turn, so it ends with its caller. */
  async #leave(turn: ChatTurn, idempotencyKey: string | undefined): Promise<void> {
    if (idempotencyKey !== undefined) return;
    await turn
      .cancel()
      .catch((error: unknown) => this.#parts.report('cancelling the turn of a client that left', error));
  }
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

function absent(error: unknown): undefined {
  if (error instanceof PlatformError && error.code === 'not_found') return undefined;
  throw error;
}

/** The same ids for the same key of the same caller, so that a repeat on any node is the same turn. */
function idsOf(caller: TenantCaller, agentId: string, key: string) {
  const id = (purpose: string): string =>
    uuidFrom(JSON.stringify([purpose, caller.scope.tenantId, actorOf(caller), agentId, key]));
  return { executionId: id('execution'), sessionId: id('session') };
}

/** A UUID of version 8 (custom) from a hash. */
function uuidFrom(text: string): string {
  const bytes = createHash('sha256').update(text).digest().subarray(0, 16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = bytes.toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

function answerOf({ sessionId, executionId }: ChatTurn, result: TurnResult): ChatAnswer {
  const ids = { session_id: sessionId, execution_id: executionId };
  if (result.outcome === 'TIMEOUT') {
    const message = `The turn reached its limit (${result.timeoutClock ?? 'turn'}). Read what it did with get_execution.`;
    return refusal('TURN_TIMEOUT', message, {
      ...ids,
      timed_out: true,
      timeout_clock: result.timeoutClock ?? 'turn',
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
