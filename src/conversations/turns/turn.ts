/**
 * A turn as its session sees it: its input, the records while it runs, and its end. The session owns everything
 * durable. The turn asks it to record each step before the next begins, and replays what an earlier process
 * recorded.
 */
import type { TenantLimits } from '../../kernel/caller.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { RunnableAgent } from '../../agents/index.js';
import type { CallOrder } from '../../models/calls/index.js';
import type { AssistantPart, Message, Usage, UserPart } from '../../llm/index.js';
import type { SchemaFormat } from '../../models/response-format/index.js';

export type Scalar = string | number | boolean;

/** The caller, for the ledger; permissions were checked before. */
export interface TurnCaller {
  readonly keyId: string | null;
  readonly userId: string | null;
}

export interface TurnStart {
  readonly scope: TenantScope;
  readonly limits: TenantLimits;
  readonly caller: TurnCaller;
  readonly executionId: string;
  /** How many processes have started this turn, including this one. */
  readonly attempt: number;
  readonly sessionId: string;
  readonly triggerId: string | null;
  readonly agentId: string;
  readonly agent: RunnableAgent;
  /** 0 for a turn that a caller requested, one more for each level of sub-agents. */
  readonly depth: number;
  /** The user's own text; empty if the message has only attachments. */
  readonly message: string;
  /** The images and files of the message, in the form that models take. */
  readonly attachments: readonly UserPart[];
  /** The schema that the answer must fit, in place of the agent's. */
  readonly responseFormat: SchemaFormat | undefined;
  /** The data block that accompanies the message: the part of the context that the model may see, redacted. */
  readonly contextBlock: string | undefined;
  /**
   * The values for tools: the context, including hidden names, merged with the bindings. Never shown to the model.
   */
  readonly toolContext: Readonly<Record<string, Scalar>>;
  /** Earlier messages of the session in the form that models take, oldest first, within the memory window. */
  readonly history: readonly Message[];
  /** The summary of messages before the window, and the facts about the consumer. */
  readonly summary: string | undefined;
  readonly facts: readonly string[];
  readonly quickReplies: boolean;
  /** From the start of the model loop; the shorter of the platform's and the caller's limits. */
  readonly deadlineMs: number;
  /** In the turn of a sub-agent: the tenant's month has admitted the turn that asks it. */
  readonly admitted?: boolean;
  /** The steps that an earlier process recorded for this turn, in order; empty for a first run. */
  readonly recorded: readonly RecordedStep[];
  /** What people decided on calls of this turn; absent if none needed an approval so far. */
  readonly approvals?: ApprovalDecisions;
  /** The span that the turn belongs to, on any node. */
  readonly traceparent?: string | undefined;
  /** When the turn waited for people; its clock leaves this time out. */
  readonly waits?: readonly Wait[];
}

/** What a person decided on a call of a tool. */
export type ApprovalDecision =
  | { readonly approved: true; readonly arguments: Readonly<Record<string, unknown>> | undefined }
  | { readonly approved: false; readonly reason: string | null };

/** By the place of the call. */
export type ApprovalDecisions = ReadonlyMap<string, ApprovalDecision>;

/** Wall-clock milliseconds. */
export interface Wait {
  readonly fromMs: number;
  readonly toMs: number;
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

/** A step of a sub-agent's turn. Sub-agents of its own have theirs below it. */
export interface ChildStep extends Omit<RecordedStep, 'detail'> {
  readonly agentId?: string;
  readonly steps?: readonly ChildStep[];
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
      readonly admitted?: Admitted;
    }
  | {
      readonly step: 'tool';
      readonly callId: string;
      /** JSON text as the model wrote it. Bindings are added when the tool is called and are not part of it. */
      readonly arguments: string;
      /** The text for the model; absent while the step runs. */
      readonly result?: string;
      readonly isError?: boolean;
      readonly latencyMs?: number;
      /** The usage of a sub-agent's model rounds. */
      readonly usage?: Usage;
      readonly cost?: number;
      readonly admitted?: Admitted;
      /** The sub-agent that was asked. */
      readonly agentId?: string;
      /** What a sub-agent did: its steps, without their texts, which the answer holds as far as they matter. */
      readonly steps?: readonly ChildStep[];
      /** The recorded steps of a sub-agent that waited for an approval, or goes on after it; absent once it has ended. */
      readonly parked?: readonly RecordedStep[];
      /** The version that it had then. Absent for a draft, and in records of versions that did not note it. */
      readonly parkedVersion?: number;
    }
  | {
      readonly step: 'intent';
      readonly intent: string;
      readonly usage?: Usage;
      readonly cost?: number;
      readonly admitted?: Admitted;
    };

/** Whether the platform paid for a call of the step. Absent in records of versions that did not note it. */
type Admitted = boolean | undefined;

/** What the session does for a running turn. */
export interface TurnPorts {
  /** Publishes an event to the readers. Not awaited: the session keeps the order and handles slow readers. */
  emit(event: TurnEvent): void;
  /** Durable when it resolves. A rejected record ends the turn here: another process owns it now. */
  record(steps: readonly RecordedStep[]): Promise<void>;
  /**
   * Opens the ledger row of a call in the commit of the steps that were just given to `record`, if that commit has
   * not left.
   */
  readonly open?: NonNullable<CallOrder['openWith']>;
  /**
   * Waits for the ledger write of an answer in parallel with the session's own writes. If omitted, the turn waits.
   */
  readonly onBooking?: (booked: Promise<void>) => void;
  /**
   * Resolves once no earlier owner of the turn can still be acting (protocol 2.4), or once the turn is aborted. Awaited
   * before the first external effect.
   */
  readonly effectsClear?: () => Promise<void>;
  /** Called right before each external effect: false once another process may own the turn. */
  mayAct(): boolean;
  /** Aborted by a cancel, a change of the control mode, or the end of the activation; the reason is an `EndedBy`. */
  readonly signal: AbortSignal;
}

/** Why a turn was interrupted from outside; the reason of the ports' signal. */
export type EndedBy = 'cancelled' | 'suspended' | 'lost';

/** Events of a turn, as the session's readers see them. The session adds the ids and the first event, `metadata`. */
export type TurnEvent =
  | { readonly type: 'status'; readonly state: 'running' }
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

/** The end of a turn. The session records it with the messages, in one transaction, before it is published. */
export interface TurnEnd {
  readonly outcome: 'COMPLETED' | 'TIMEOUT' | 'CANCELLED' | 'FAILED' | 'SUSPENDED';
  /** The whole text; for an interrupted turn, the text so far; empty for a turn that only suggested replies. */
  readonly content: string;
  readonly blocks: readonly QuickReplies[];
  /** The content as a value, if it had to fit a schema. */
  readonly parsed?: unknown;
  /** Steps whose results are recorded together with the outcome, to save one transaction. */
  readonly steps: readonly RecordedStep[];
  readonly usage: Usage;
  readonly cost: number;
  /** Whether the platform paid for a call of the turn; absent for a turn that did not run. */
  readonly admitted?: boolean;
  /** The model of the last answer. */
  readonly model: string | null;
  readonly provider: string | null;
  readonly latencyMs: number;
  readonly firstTokenMs: number | null;
  readonly toolCalls: number;
  readonly timeoutClock?: ModelClock;
  readonly error?: TurnError;
}

/** Why a turn failed, as its stream and its execution tell. */
export interface TurnError {
  readonly code: string;
  readonly message: string;
  /** For an error of another service: which one, and what it answered. */
  readonly details?: Readonly<Record<string, unknown>> | undefined;
}
