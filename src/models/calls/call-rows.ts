/** The rows that telemetry stores for a call. */
import { redactText } from '../../infra/diagnostics/index.js';
import {
  type AttemptReport,
  costOf,
  inputTokens,
  type LlmRequest,
  outputTokens,
  sumOfCosts,
  type Usage,
  withoutSecret,
} from '../../llm/index.js';
import type { CallRow, RecordedRow } from '../usage/index.js';
import type { CallOrder } from './call-order.js';
import type { Answer } from './stored-reply.js';

/** Enough to recognise a call, too little to read a conversation in the log. */
const previewCharsMax = 200;
/** Redaction reads this much beyond the preview, since a credential that the cut splits would not be recognised. */
const previewMargin = 200;

export function callRow(
  order: CallOrder,
  callId: string,
  startedAt: string,
  reports: readonly AttemptReport[],
  responseMs: number,
): CallRow {
  const first = reports[0];
  const last = reports.at(-1);
  if (first === undefined || last === undefined) throw new Error('A recorded call has an attempt');
  const sum = (of: (usage: Usage) => number): number =>
    reports.reduce((all, { usage }) => all + of(usage), 0);
  const { model, credential } = last.target;
  return rowOf(order, callId, startedAt, {
    provider: credential.vendor,
    model: model.id,
    first_model: first.target.model.id,
    status: last.outcome === 'completed' || last.outcome === 'cancelled' ? 'success' : 'error',
    failure: last.error?.failure ?? null,
    from_cache: false,
    attempts: reports.length,
    input_tokens: sum(inputTokens),
    output_tokens: sum(outputTokens),
    cached_tokens: sum(({ cacheRead }) => cacheRead),
    cache_creation_tokens: sum(({ cacheWrite5m, cacheWrite1h }) => cacheWrite5m + cacheWrite1h),
    cost: sumOfCosts(reports.map(({ usage, target }) => costOf(usage, target.model.price))),
    response_time_ms: Math.max(0, responseMs),
    output_preview: outputPreview(last),
  });
}

/** The part of a call's row that the row of its only attempt does not hold. */
export function recordedRow(order: CallOrder, report: AttemptReport, responseMs: number): RecordedRow {
  return {
    response_time_ms: responseMs,
    input_preview: preview(newestInput(order.request)),
    output_preview: outputPreview(report),
  };
}

/** A cached answer: its tokens are those that no vendor had to produce. */
export function hitRow(
  order: CallOrder,
  callId: string,
  answer: Answer,
  times: { readonly startedAt: string; readonly responseMs: number },
): CallRow {
  const usage = { ...answer.usage, raw: null };
  const [input, output] = [inputTokens(usage), outputTokens(usage)];
  return rowOf(order, callId, times.startedAt, {
    provider: answer.vendor,
    model: answer.model,
    first_model: answer.model,
    status: 'success',
    failure: null,
    from_cache: true,
    attempts: 0,
    input_tokens: input,
    output_tokens: output,
    cached_tokens: input + output,
    cache_creation_tokens: 0,
    cost: 0,
    response_time_ms: Math.max(0, times.responseMs),
    output_preview: preview(answer.text),
  });
}

type CallDetails = Omit<CallRow, keyof ReturnType<typeof namesOf>>;

/** Written out: building rows of this many columns by spreading takes fifty times as long. */
function rowOf(order: CallOrder, callId: string, startedAt: string, details: CallDetails): CallRow {
  const names = namesOf(order, callId, startedAt);
  return {
    tenant_id: names.tenant_id,
    started_at: names.started_at,
    call_id: names.call_id,
    key_id: names.key_id,
    user_id: names.user_id,
    agent_id: names.agent_id,
    session_id: names.session_id,
    execution_id: names.execution_id,
    call_source: names.call_source,
    provider: details.provider,
    model: details.model,
    first_model: details.first_model,
    status: details.status,
    failure: details.failure,
    from_cache: details.from_cache,
    attempts: details.attempts,
    input_tokens: details.input_tokens,
    output_tokens: details.output_tokens,
    cached_tokens: details.cached_tokens,
    cache_creation_tokens: details.cache_creation_tokens,
    cost: details.cost,
    response_time_ms: details.response_time_ms,
    input_preview: names.input_preview,
    output_preview: details.output_preview,
  };
}

function namesOf(order: CallOrder, callId: string, startedAt: string) {
  return {
    tenant_id: order.scope.tenantId,
    started_at: startedAt,
    call_id: callId,
    key_id: order.keyId,
    user_id: order.userId,
    agent_id: order.agentId ?? null,
    session_id: order.sessionId ?? null,
    execution_id: order.executionId ?? null,
    call_source: order.source,
    input_preview: preview(newestInput(order.request)),
  };
}

function outputPreview({ excerpt, target }: AttemptReport): string {
  const secret = target.credential.reveal();
  return preview(secret === undefined ? excerpt : withoutSecret(excerpt, secret));
}

/** The newest input: the user's last message, the tool results, or the first text of a call for vectors. */
function newestInput({ messages, embedding }: LlmRequest): string {
  const [first] = embedding?.inputs ?? [];
  if (typeof first === 'string') return first;
  const last = messages.findLast(({ role }) => role === 'user' || role === 'tool');
  if (last === undefined || last.role === 'system') return '';
  for (const part of last.content) if (part.type === 'text') return part.text;
  return '';
}

function preview(text: string): string {
  const looked = text.slice(0, previewCharsMax + previewMargin);
  const clean = redactText(looked).replaceAll('\0', '');
  return clean.length <= previewCharsMax ? clean : `${clean.slice(0, previewCharsMax - 1)}…`;
}
