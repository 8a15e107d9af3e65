/**
 * How much a model thinks: the wish of the request, within what the model takes. Thoughts with a budget of their own count
 * in the bound of the output at some vendors: it is sent with the budget added, so that the answer keeps the room that was
 * asked for, and reserved like that.
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
/** Anthropic's models take no smaller one. */
const budgetMin = 1024;

/** A tool must be called, and the model lets itself be forced. */
function isForced({ tools = [], toolChoice: choice }: LlmRequest, { capabilities }: ThinkingModel): boolean {
  const forces = choice === 'required' || typeof choice === 'object';
  return forces && tools.length > 0 && capabilities.has('forced_tools');
}

/**
 * The effort that the vendor is asked for; undefined: its own. Most models that can be forced to a tool refuse to think
 * then. The tool decides what the answer is, and the effort only how good it is: the effort gives way.
 */
export function sentEffort(request: LlmRequest, model: ThinkingModel): ReasoningEffort | undefined {
  const { reasoningEffort: effort } = request;
  if (effort === undefined || !model.capabilities.has('reasoning')) return undefined;
  return isForced(request, model) && !model.capabilities.has('forced_while_thinking') ? 'none' : effort;
}

/** The tokens that are added for thoughts; 0 where they have no budget or none is added. */
export function addedForThoughts(family: Family, request: LlmRequest, model: ThinkingModel): number {
  if (family !== 'anthropic' && family !== 'bedrock') return 0;
  // A caller of the same format sets the bound for both itself.
  if (family === 'anthropic' && request.wire?.dialect === 'messages') return 0;
  const effort = sentEffort(request, model);
  if (effort === undefined || effort === 'none' || model.capabilities.has('adaptive_thinking')) return 0;
  const half = Math.floor(model.maxOutputTokens / 2);
  const { thinkingBudget: given, maxTokens = half } = request;
  if (given === undefined) return Math.min(budgets[effort], half);
  // The budget must be below the bound, which cannot grow above the model's maximum.
  return Math.min(Math.max(given, budgetMin), model.maxOutputTokens - Math.min(maxTokens, half));
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
