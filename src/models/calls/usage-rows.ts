import {
  type AttemptReport,
  type AttemptStart,
  costOf,
  estimateInputTokens,
  inputTokens,
  outputTokens,
  reservedOutput,
  zeroUsage,
} from '../../llm/index.js';
import { monthOf } from '../../tenancy/quota/index.js';
import type { ClosedRow, OpenedRow } from '../usage/index.js';
import type { CallOrder } from './call-order.js';

/** Added to the call's own deadline: the clocks of nodes differ, and a closing may wait for the store. */
export const graceMs = 60_000;

/**
 * Writes times that rise, as `toISOString` does: each second once, since the three times of a call took a fortieth of the
 * node's work for it.
 */
function isoTimes(): (ms: number) => string {
  let second = Number.NaN;
  let head = '';
  return (ms) => {
    const whole = Math.trunc(ms);
    const its = Math.floor(whole / 1_000);
    if (its !== second) {
      second = its;
      head = new Date(its * 1_000).toISOString().slice(0, '2026-11-24T12:00:00.'.length);
    }
    return `${head}${String(whole - its * 1_000).padStart(3, '0')}Z`;
  };
}

const openedAt = isoTimes();
const deadlineAt = isoTimes();
const closedAt = isoTimes();

export function openedRow(
  order: CallOrder,
  callId: string,
  start: AttemptStart,
  times: { readonly wallMs: number; readonly callMs: number; readonly processId: string },
): OpenedRow {
  const { model, credential } = start.target;
  const input = estimateInputTokens(start.request);
  const output = reservedOutput(start.request, model);
  const usage = { ...zeroUsage, inputUncached: input, outputVisible: output };
  return {
    tenant_id: order.scope.tenantId,
    attempt_id: start.attemptId,
    call_id: callId,
    attempt_number: start.number,
    source: order.source,
    key_id: order.keyId,
    user_id: order.userId,
    agent_id: order.agentId ?? null,
    session_id: order.sessionId ?? null,
    execution_id: order.executionId ?? null,
    process_id: times.processId,
    vendor: credential.vendor,
    model: model.id,
    payer: start.payer,
    month: monthOf(times.wallMs),
    opened_at: openedAt(times.wallMs),
    deadline_at: deadlineAt(times.wallMs + times.callMs + graceMs),
    input_estimate: input,
    output_estimate: output,
    cost_estimate: costOf(usage, model.price),
  };
}

export function closedRow(
  order: CallOrder,
  report: AttemptReport,
  openedAt: string,
  wallMs: number,
): ClosedRow {
  const { usage, target, error } = report;
  return {
    tenant_id: order.scope.tenantId,
    attempt_id: report.attemptId,
    opened_at: openedAt,
    outcome: report.outcome,
    closed_at: closedAt(wallMs),
    input_tokens: inputTokens(usage),
    cache_read_tokens: usage.cacheRead,
    cache_write_tokens: usage.cacheWrite5m + usage.cacheWrite1h,
    output_tokens: outputTokens(usage),
    reasoning_tokens: usage.reasoning,
    cost: costOf(usage, target.model.price),
    usage_source: usage.source,
    stop_reason: report.stop ?? null,
    failure: error?.failure ?? null,
    // The vendor's value: bounded, and without the null character, which a text column refuses.
    vendor_request_id: report.vendorRequestId?.replaceAll('\0', '').slice(0, 200) ?? null,
    first_signal_ms: report.firstSignalMs ?? null,
    duration_ms: report.durationMs,
  };
}
