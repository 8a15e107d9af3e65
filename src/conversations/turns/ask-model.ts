import type { callSources } from '../../models/calls/index.js';
import type { CallOrder, RunningCall } from '../../models/calls/index.js';
import { PlatformError } from '../../kernel/errors.js';
import { AnswerBuilder, type AssistantPart, type LlmEvent, type LlmRequest } from '../../llm/index.js';
import { TurnLost } from './interruption.js';
import type { StepDetail } from './turn.js';
import type { TurnWork } from './turn-work.js';
import { storableText } from '../../kernel/storable-text.js';

export type CallSource = Exclude<(typeof callSources)[keyof typeof callSources], 'Central.LLM.Controller'>;
export type ModelAnswer = Extract<StepDetail, { readonly step: 'model' }>;

/** The parts of a turn that a model call needs. */
export type CallContext = Pick<TurnWork, 'parts' | 'start' | 'interruption' | 'totals' | 'span'>;

export interface CallRequest {
  readonly source: CallSource;
  readonly request: Pick<
    LlmRequest,
    'messages' | 'tools' | 'toolChoice' | 'temperature' | 'maxTokens' | 'cachePrompt'
  >;
  /** The agent's model and its fallbacks, unless another is named. */
  readonly model?: string;
  readonly clocks?: CallOrder['clocks'];
  /** An earlier process began the call, and the month may have admitted it then. */
  readonly again?: boolean;
  readonly onEvents?: (events: readonly LlmEvent[]) => void;
  /** Asked right before each attempt: false once another process may own the turn. */
  readonly mayAct: () => boolean;
  /** What must be durable before the model is asked. */
  readonly ready?: Promise<void>;
  /** Opens the ledger row. */
  readonly openWith?: CallOrder['openWith'];
  /** Takes over the wait for the ledger write of an answer. */
  readonly onBooking?: (booked: Promise<void>) => void;
}

/** One model call to its end. Throws if it was refused, failed, or the turn was ended. */
export async function askModel(work: CallContext, question: CallRequest): Promise<ModelAnswer> {
  const { parts, interruption } = work;
  const begin = await parts.models.prepare(orderOf(work, question));
  interruption.check();
  const call = begin();
  try {
    return await collectAnswer(work, call, question);
  } catch (error) {
    // A call that failed may still have used tokens.
    if (call.spent !== undefined) work.totals.add(call.spent);
    // A turn that was cut off during its answer still reports which model was answering.
    if (question.model === undefined && call.spent !== undefined && call.target !== undefined)
      work.totals.askedLast({ model: call.target.model.id, provider: call.target.model.vendor });
    throw error;
  }
}

async function collectAnswer(
  { interruption }: CallContext,
  call: RunningCall,
  { onEvents, mayAct }: CallRequest,
): Promise<ModelAnswer> {
  const builder = new AnswerBuilder();
  const served = await call.run((events) => {
    for (const event of events) builder.add(event);
    onEvents?.(events);
  });
  if (served === undefined) {
    interruption.check();
    if (!mayAct()) throw new TurnLost();
    const message = 'The model call ended without an answer.';
    const provider = call.target?.model.vendor ?? 'none';
    throw new PlatformError('provider_error', { message, details: { provider, original_error: message } });
  }
  const answer = builder.build({
    vendor: served.vendor,
    model: served.model,
    credentialId: call.target?.credential.id ?? '',
  });
  return {
    step: 'model',
    parts: answer.content.map(storablePart),
    stop: served.stop ?? 'other',
    model: served.model,
    provider: served.vendor,
    usage: { ...served.usage, raw: null },
    cost: served.cost,
    latencyMs: served.latencyMs,
    admitted: call.spent?.admitted,
  };
}

function orderOf(
  { parts, start, interruption, totals, span }: CallContext,
  { source, request, model, clocks = parts.clocks, again, ready, openWith, onBooking, mayAct }: CallRequest,
): CallOrder {
  const { llm_config: config } = start.agent.snapshot;
  return {
    scope: start.scope,
    limits: start.limits,
    source,
    keyId: start.caller.keyId,
    userId: start.caller.userId,
    agentId: start.agentId,
    agentBudget: start.agent.snapshot.metadata.budget ?? undefined,
    sessionId: start.sessionId,
    executionId: start.executionId,
    traceparent: span?.traceparent ?? start.traceparent,
    model: model ?? config.model,
    fallbackModels: model === undefined ? config.fallback_models : undefined,
    request: {
      temperature: config.temperature,
      ...(config.max_tokens !== undefined && { maxTokens: config.max_tokens }),
      ...request,
      stream: true,
    },
    ...(clocks !== undefined && { clocks }),
    ...(Number.isFinite(interruption.deadlineMs) && { turnDeadlineMs: interruption.deadlineMs }),
    // A turn is admitted with its first call that the platform pays for.
    alreadyAdmitted: start.admitted === true || totals.admitted || again === true,
    ready,
    openWith,
    onBooking,
    mayBegin: mayAct,
    signal: interruption.signal,
  };
}

function storablePart(part: AssistantPart): AssistantPart {
  switch (part.type) {
    case 'text':
    case 'thinking':
      return { ...part, text: storableText(part.text) };
    case 'tool_call':
      return {
        ...part,
        id: storableText(part.id),
        name: storableText(part.name),
        arguments: storableText(part.arguments),
      };
    case 'redacted_thinking':
      return part;
  }
}

/** The model's text without its thinking. */
export function textOf({ parts }: ModelAnswer): string {
  return parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
}
