import type {
  FollowResponse,
  RunResponse,
  WatchResponse,
} from '../../../../generated/troupe/actors/v1/session.js';
import {
  type TurnEvent,
  TurnEvent_Done_Clock as Clock,
  type TurnEvent_Error as ErrorMessage,
  type TurnEvent_Done as DoneMessage,
  type TurnEvent_Metrics as MetricsMessage,
  TurnEvent_Done_Outcome as OutcomeValue,
  TurnEvent_Phase_Name as PhaseValue,
  type TurnEvent_Response as ResponseMessage,
  TurnEvent_Status_State as StateValue,
  type TurnEvent_TextPiece as TextPiece,
  type TurnEvent_Tool as ToolMessage,
  TurnEvent_Tool_State as ToolStateValue,
} from '../../../../generated/troupe/actors/v1/turn_event.js';
import { requiredPart, UnreadableMessage, wireEnum } from '../../../infra/runtime/index.js';
import {
  doneEvent,
  type DoneEvent,
  type ErrorEvent,
  type MetricsEvent,
  type Outcome,
  type Phase,
  type QuickRepliesBlock,
  type ResponseEvent,
  type StreamEvent,
  type TimeoutClock,
  type ToolEvent,
  type ToolState,
  type TurnState,
} from '../../invocation/index.js';
import type { TurnEvents, WatchedEvents } from '../requests.js';
import { objectFromWire } from './objects.js';
import type { LoggedEvent } from '../turn-log.js';

type EventPart = NonNullable<TurnEvent['event']>;

const states = wireEnum<TurnState, StateValue>('TurnEvent.status.state', {
  queued: StateValue.QUEUED,
  running: StateValue.RUNNING,
  restarted: StateValue.RESTARTED,
});
const phases = wireEnum<Phase, PhaseValue>('TurnEvent.phase.name', {
  load: PhaseValue.LOAD,
  intent: PhaseValue.INTENT,
  model: PhaseValue.MODEL,
  tools: PhaseValue.TOOLS,
  finish: PhaseValue.FINISH,
});
const toolStates = wireEnum<ToolState, ToolStateValue>('TurnEvent.tool.state', {
  started: ToolStateValue.STARTED,
  finished: ToolStateValue.FINISHED,
  failed: ToolStateValue.FAILED,
  timeout: ToolStateValue.TIMEOUT,
});
const outcomes = wireEnum<Outcome, OutcomeValue>('TurnEvent.done.outcome', {
  COMPLETED: OutcomeValue.COMPLETED,
  TIMEOUT: OutcomeValue.TIMEOUT,
  CANCELLED: OutcomeValue.CANCELLED,
  FAILED: OutcomeValue.FAILED,
  BLOCKED: OutcomeValue.BLOCKED,
  SUSPENDED: OutcomeValue.SUSPENDED,
});
const clocks = wireEnum<TimeoutClock, Clock>('TurnEvent.done.timeout_clock', {
  turn: Clock.TURN,
  first_signal: Clock.FIRST_SIGNAL,
  idle: Clock.IDLE,
  call: Clock.CALL,
});

/** The answer of `Run` and of `Follow`. */
export type TurnEventsMessage = RunResponse & FollowResponse;

export function turnEventsToWire(batch: TurnEvents): TurnEventsMessage {
  return {
    events: batch.events.map(eventToWire),
    deadlineInMs: batch.deadlineInMs,
    barrier: batch.barrier,
    elsewhere: batch.elsewhere,
    after: batch.after,
  };
}

export function turnEventsFromWire(batch: RunResponse | FollowResponse): TurnEvents {
  return {
    events: batch.events.map(eventFromWire),
    deadlineInMs: batch.deadlineInMs,
    barrier: batch.barrier,
    elsewhere: batch.elsewhere,
    after: batch.after,
  };
}

export function watchedEventsToWire(
  { executionId, events }: WatchedEvents,
  others?: WatchResponse['others'],
): WatchResponse {
  return { executionId, events: events.map(eventToWire), others };
}

export function watchedEventsFromWire({ executionId, events }: WatchResponse): WatchedEvents {
  return { executionId, events: events.map(eventFromWire) };
}

function eventToWire({ id, event }: LoggedEvent): TurnEvent {
  return { id, event: partOf(event) };
}

function eventFromWire({ id, event }: TurnEvent): LoggedEvent {
  return { id, event: eventOf(requiredPart('TurnEvent.event', event)) };
}

function partOf(event: StreamEvent): EventPart {
  switch (event.type) {
    case 'delta':
    case 'thinking':
      return { $case: event.type, value: pieceToWire(event.content) };
    case 'metadata':
      return {
        $case: 'metadata',
        value: {
          acceptedFields: [...event.accepted_fields],
          ignoredFields: [...event.ignored_fields],
          sessionId: event.session_id,
          executionId: event.execution_id,
        },
      };
    case 'status':
      return { $case: 'status', value: { state: states.toWire(event.state) } };
    case 'phase':
      return { $case: 'phase', value: { name: phases.toWire(event.name) } };
    case 'tool':
      return { $case: 'tool', value: toolToWire(event) };
    case 'approval':
      return {
        $case: 'approval',
        value: {
          approvalId: event.approval_id,
          tool: event.tool,
          arguments: JSON.stringify(event.arguments),
        },
      };
    case 'response':
      return { $case: 'response', value: responseToWire(event) };
    case 'metrics':
      return { $case: 'metrics', value: metricsToWire(event) };
    case 'error':
      return { $case: 'error', value: errorToWire(event) };
    case 'done':
      return { $case: 'done', value: doneToWire(event) };
  }
}

function eventOf(part: EventPart): StreamEvent {
  switch (part.$case) {
    case 'delta':
    case 'thinking':
      return { type: part.$case, content: pieceFromWire(part.value) };
    case 'metadata':
      return {
        type: 'metadata',
        accepted_fields: part.value.acceptedFields,
        ignored_fields: part.value.ignoredFields.map(({ field, reason }) => ({ field, reason })),
        session_id: part.value.sessionId,
        execution_id: part.value.executionId,
      };
    case 'status':
      return { type: 'status', state: states.fromWire(part.value.state) };
    case 'phase':
      return { type: 'phase', name: phases.fromWire(part.value.name) };
    case 'tool':
      return toolFromWire(part.value);
    case 'approval':
      return {
        type: 'approval',
        approval_id: part.value.approvalId,
        tool: part.value.tool,
        arguments: objectFromWire('TurnEvent.approval.arguments', part.value.arguments),
      };
    case 'response':
      return responseFromWire(part.value);
    case 'metrics':
      return metricsFromWire(part.value);
    case 'error':
      return errorFromWire(part.value);
    case 'done':
      return doneFromWire(part.value);
  }
}

const noBytes = new Uint8Array();

/** UTF-8 cannot carry half of a surrogate pair, and a vendor may cut its text anywhere. */
function pieceToWire(content: string): TextPiece {
  return content.isWellFormed()
    ? { content, splitContent: noBytes }
    : { content: '', splitContent: Buffer.from(content, 'utf16le') };
}

function pieceFromWire({ content, splitContent }: TextPiece): string {
  return splitContent.length === 0 ? content : Buffer.from(splitContent).toString('utf16le');
}

function toolToWire({ call_id, name, state, latency_ms }: ToolEvent): ToolMessage {
  return { callId: call_id, name, state: toolStates.toWire(state), latencyMs: latency_ms };
}

function toolFromWire({ callId, name, state, latencyMs }: ToolMessage): ToolEvent {
  const event: ToolEvent = { type: 'tool', call_id: callId, name, state: toolStates.fromWire(state) };
  return latencyMs === undefined ? event : { ...event, latency_ms: latencyMs };
}

function responseToWire({ content, blocks = [], parsed }: ResponseEvent): ResponseMessage {
  return {
    content,
    parsed: parsed === undefined ? undefined : JSON.stringify(parsed),
    blocks: blocks.map(({ data }) => ({
      block: { $case: 'quickReplies', value: { labels: [...data.labels] } },
    })),
  };
}

function responseFromWire({ content, blocks, parsed }: ResponseMessage): ResponseEvent {
  return {
    type: 'response',
    content,
    ...(blocks.length === 0 ? {} : { blocks: blocks.map(blockFromWire) }),
    ...(parsed === undefined ? {} : { parsed: JSON.parse(parsed) as unknown }),
  };
}

function blockFromWire({ block }: ResponseMessage['blocks'][number]): QuickRepliesBlock {
  if (block === undefined) throw new UnreadableMessage('TurnEvent.response.blocks', 'has an unknown kind');
  return { type: 'quick_replies', data: { labels: block.value.labels } };
}

function metricsToWire(event: MetricsEvent): MetricsMessage {
  return {
    inputTokens: event.usage.input_tokens,
    outputTokens: event.usage.output_tokens,
    totalTokens: event.usage.total_tokens,
    cost: event.cost,
    model: event.model ?? undefined,
    provider: event.provider ?? undefined,
    latencyMs: event.latency_ms,
    firstTokenMs: event.first_token_ms ?? undefined,
    toolCalls: event.tool_calls,
  };
}

function metricsFromWire(message: MetricsMessage): MetricsEvent {
  return {
    type: 'metrics',
    usage: {
      input_tokens: message.inputTokens,
      output_tokens: message.outputTokens,
      total_tokens: message.totalTokens,
    },
    cost: message.cost,
    model: message.model ?? null,
    provider: message.provider ?? null,
    latency_ms: message.latencyMs,
    first_token_ms: message.firstTokenMs ?? null,
    tool_calls: message.toolCalls,
  };
}

function errorToWire({ code, message, details, timed_out }: ErrorEvent): ErrorMessage {
  return { code, message, details, timedOut: timed_out ?? false };
}

function errorFromWire({ code, message, details, timedOut }: ErrorMessage): ErrorEvent {
  return {
    type: 'error',
    code,
    message,
    ...(details === undefined ? {} : { details }),
    ...(timedOut ? { timed_out: true } : {}),
  };
}

function doneToWire({ outcome, session_id, execution_id, timeout_clock }: DoneEvent): DoneMessage {
  return {
    outcome: outcomes.toWire(outcome),
    sessionId: session_id,
    executionId: execution_id,
    timeoutClock: timeout_clock === undefined ? undefined : clocks.toWire(timeout_clock),
  };
}

function doneFromWire({ outcome, sessionId, executionId, timeoutClock }: DoneMessage): DoneEvent {
  return doneEvent(
    { session_id: sessionId, execution_id: executionId },
    outcomes.fromWire(outcome),
    timeoutClock === undefined ? undefined : clocks.fromWire(timeoutClock),
  );
}
