/**
 * The spans of a turn, by the semantic conventions for generative AI: the agent, and its tools. The model calls make their
 * own. Spans hold names, ids, counts and codes, and nothing that people, models or tools wrote.
 */
import { redactText, type WorkSpan } from '../../infra/diagnostics/index.js';
import { inputTokens, outputTokens, type ToolCallPart } from '../../llm/index.js';
import type { TurnsParts } from './parts.js';
import type { ToolResult } from './tool-result.js';
import type { TurnEnd, TurnStart } from './turn.js';
import type { TurnWork } from './turn-work.js';

/** Long enough for any name that a person gives, and a bound for what an exporter sends. */
const nameCharsMax = 100;

export function agentSpan({ spans }: TurnsParts, start: TurnStart): WorkSpan | undefined {
  if (spans === undefined) return undefined;
  const { snapshot } = start.agent;
  const name = shown(snapshot.name);
  return spans.begin({
    name: `invoke_agent ${name}`,
    kind: 'internal',
    parent: start.traceparent,
    attributes: {
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.id': start.agentId,
      'gen_ai.agent.name': name,
      'gen_ai.request.model': snapshot.llm_config.model,
      'gen_ai.conversation.id': start.sessionId,
      'troupe.execution.id': start.executionId,
      'troupe.tenant.id': start.scope.tenantId,
      'troupe.attempt': start.attempt,
    },
  });
}

export function endAgentSpan(span: WorkSpan, end: TurnEnd): void {
  const { outcome, usage, model, provider, error, timeoutClock } = end;
  span.set({
    'gen_ai.usage.input_tokens': inputTokens(usage),
    'gen_ai.usage.output_tokens': outputTokens(usage),
    ...(model !== null && { 'gen_ai.response.model': model }),
    ...(provider !== null && { 'gen_ai.provider.name': provider }),
    'troupe.outcome': outcome,
    'troupe.tool_calls': end.toolCalls,
  });
  if (outcome === 'FAILED') span.fail(error?.code ?? 'internal_error');
  if (outcome === 'TIMEOUT') span.fail(`timeout_${timeoutClock ?? 'turn'}`);
  span.end();
}

export function toolSpan(
  { parts: { spans }, start, span }: TurnWork,
  { id, name }: ToolCallPart,
): WorkSpan | undefined {
  return spans?.begin({
    name: `execute_tool ${shown(name)}`,
    kind: 'internal',
    parent: span?.traceparent,
    attributes: {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': shown(name),
      'gen_ai.tool.call.id': shown(id),
      'gen_ai.tool.type': 'function',
      'gen_ai.conversation.id': start.sessionId,
      'troupe.execution.id': start.executionId,
      'troupe.tenant.id': start.scope.tenantId,
    },
  });
}

export function endToolSpan(span: WorkSpan | undefined, state: ToolResult['state'] | 'waiting'): void {
  if (state === 'failed' || state === 'timeout') span?.fail(`tool_${state}`);
  span?.end();
}

/** Tenants and models choose these names. */
function shown(name: string): string {
  return redactText(name.slice(0, nameCharsMax));
}
