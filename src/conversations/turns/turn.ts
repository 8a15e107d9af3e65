/**
 * What a turn is, seen from its session: what it begins with, what it records while it runs, how it ends. The session
 * owns everything that lasts; the turn asks it to record each step before the next begins, and replays what an earlier
 * process recorded.
 */
import type { TenantLimits } from '../../kernel/caller.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { RunnableAgent } from '../../agents/index.js';
import type { CallOrder } from '../../models/calls/index.js';
import type { AssistantPart, Message, Usage } from '../../llm/index.js';

export type Scalar = string | number | boolean;

/** Who asked, for the books; not for permissions, which were judged before. */
export interface TurnCaller {
  readonly keyId: string | null;
  readonly userId: string | null;
}

export interface TurnStart {
  readonly scope: TenantScope;
  readonly limits: TenantLimits;
  readonly caller: TurnCaller;
  readonly executionId: string;
  /** How often a process has begun this turn, this time included. */
  readonly attempt: number;
  readonly sessionId: string;
  readonly triggerId: string | null;
  readonly agentId: string;
  readonly agent: RunnableAgent;
  /** 0 for a turn that somebody asked for, one more for each agent that calls another. */
  readonly depth: number;
  /** The user's own text. */
  readonly message: string;
  /** The data block that travels with the message: what of the context the model may see, redacted. */
  readonly contextBlock: string | undefined;
  /** What tools may read: context, hidden names too, with the bindings over it. Never shown to the model. */
  readonly toolContext: Readonly<Record<string, Scalar>>;
  /** Earlier messages of the session in the form that models take, oldest first, within the memory's window. */
  readonly history: readonly Message[];
  /** What is kept of messages before the window, and of the consumer. */
  readonly summary: string | undefined;
  readonly facts: readonly string[];
  readonly quickReplies: boolean;
  /** From the start of the model loop; the least of the platform's and the caller's. */
  readonly deadlineMs: number;
  /** What an earlier process recorded of this very turn, in order; empty for a first run. */
  readonly recorded: readonly RecordedStep[];
}

export type StepKind = 'intent' | 'model' | 'tool';

/** A step as it is recorded: its start before its effect, its result before the next step. */
export interface RecordedStep {
  readonly number: number;
  readonly kind: StepKind;
  /** The call source for models (`agent.tool-loop`, …), the tool's name for tools. */
  readonly name: string;
  readonly state: 'started' | 'finished' | 'failed' | 'timeout';
  readonly startedAt: string;
  readonly finishedAt: string | null;
  readonly detail: StepDetail | null;
}

export type StepDetail =
  | {
      readonly step: 'model';
      readonly parts: readonly AssistantPart[];
      readonly stop: string;
      readonly model: string;
      readonly provider: string;
      readonly usage: Usage;
      readonly cost: number;
      readonly latencyMs: number;
    }
  | {
      readonly step: 'tool';
      readonly callId: string;
      /** JSON text as the model wrote it. Bindings are put in when the tool is called and stand nowhere here. */
      readonly arguments: string;
      /** What the model is told; absent while it runs. */
      readonly result?: string;
      readonly isError?: boolean;
      readonly latencyMs?: number;
      /** What a sub-agent's model rounds used. */
      readonly usage?: Usage;
      readonly cost?: number;
    }
  | { readonly step: 'intent'; readonly intent: string; readonly usage?: Usage; readonly cost?: number };

/** What the session does for a running turn. */
export interface TurnPorts {
  /** Tells the readers. Nothing is awaited: the session keeps the order and holds slow readers apart. */
  emit(event: TurnEvent): void;
  /** Durable when it resolves. A rejected record ends the turn here: another process owns it now. */
  record(steps: readonly RecordedStep[]): Promise<void>;
  /** Opens the books of a call in the commit of what was given to `record` before it, while that has not left. */
  readonly open?: NonNullable<CallOrder['openWith']>;
  /** Waits for the booking of an answer beside what it makes durable itself; left out, the turn waits. */
  readonly onBooking?: (booked: Promise<void>) => void;
  /** Right before each effect outside: false once another process may own the turn. */
  mayAct(): boolean;
  /** Aborted by a cancel, a change of the control mode, or the end of the activation; the reason is an `EndedBy`. */
  readonly signal: AbortSignal;
}

/** Why a turn is ended from outside; the reason of the ports' signal. */
export type EndedBy = 'cancelled' | 'suspended' | 'lost';

/** Events of a turn, as the session's readers see them; ids and the first `metadata` are the session's own. */
export type TurnEvent =
  | { readonly type: 'status'; readonly state: string }
  | { readonly type: 'phase'; readonly name: 'load' | 'intent' | 'model' | 'tools' | 'finish' }
  | {
      readonly type: 'tool';
      readonly call_id: string;
      readonly name: string;
      readonly state: 'started' | 'finished' | 'failed' | 'timeout';
      readonly latency_ms?: number;
    }
  | { readonly type: 'thinking'; readonly content: string }
  | { readonly type: 'delta'; readonly content: string };

export type ModelClock = 'turn' | 'first_signal' | 'idle' | 'call';

export interface QuickReplies {
  readonly type: 'quick_replies';
  readonly data: { readonly labels: readonly string[] };
}

/** How a turn ended. The session records it with the messages, in one transaction, before anybody is told. */
export interface TurnEnd {
  readonly outcome: 'COMPLETED' | 'TIMEOUT' | 'CANCELLED' | 'FAILED' | 'SUSPENDED';
  /** The whole text; of a turn that was cut off, what had come; empty for a turn of suggestions alone. */
  readonly content: string;
  readonly blocks: readonly QuickReplies[];
  /** Steps whose results were not recorded yet, with the outcome: one transaction less. */
  readonly steps: readonly RecordedStep[];
  readonly usage: Usage;
  readonly cost: number;
  /** Of the last answer. */
  readonly model: string | null;
  readonly provider: string | null;
  readonly latencyMs: number;
  readonly firstTokenMs: number | null;
  readonly toolCalls: number;
  readonly timeoutClock?: ModelClock;
  readonly error?: { readonly code: string; readonly message: string };
}
