/**
 * Thoughts with a budget of their own. At some vendors they count in the bound of the output: it is sent with the budget
 * added, so that the answer keeps the room that was asked for, and reserved like that.
 */
import type { LlmRequest, ReasoningEffort } from './contract.js';
import type { Family } from './wire/field-table.js';

interface ThinkingModel {
  readonly maxOutputTokens: number;
  readonly capabilities: ReadonlySet<string>;
}

const budgets = { low: 2048, medium: 8192, high: 24_576 } as const satisfies Record<
  Exclude<ReasoningEffort, 'none'>,
  number
>;

/** The tokens that are added for thoughts; 0 where they have no budget or none is added. */
export function addedForThoughts(family: Family, request: LlmRequest, model: ThinkingModel): number {
  const { reasoningEffort: effort, wire } = request;
  if (family !== 'anthropic' && family !== 'bedrock') return 0;
  if (effort === undefined || effort === 'none' || !model.capabilities.has('reasoning')) return 0;
  if (family === 'anthropic') {
    // A caller of the same format sets the bound for both itself.
    if (wire?.dialect === 'messages' || model.capabilities.has('adaptive_thinking')) return 0;
  }
  return request.thinkingBudget ?? Math.min(budgets[effort], Math.floor(model.maxOutputTokens / 2));
}

/** The bound of the output that the vendor gets for one of the caller's. */
export function sentBound(
  family: Family,
  request: LlmRequest,
  model: ThinkingModel,
  maxTokens: number,
): number {
  return Math.min(maxTokens + addedForThoughts(family, request, model), model.maxOutputTokens);
}
