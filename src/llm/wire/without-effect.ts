/**
 * What a vendor cannot take of a request, or not beside the rest of it: the adapters leave it out, since the vendor would
 * refuse the whole call.
 */
import type { CatalogueModel } from '../catalogue/model.js';
import type { LlmRequest } from '../contract.js';
import { sentStops } from '../sent-stops.js';
import { sentEffort } from '../thinking-budget.js';

export type LostWish =
  | 'reasoningEffort'
  | 'temperature'
  | 'topP'
  | 'topK'
  | 'stop'
  | 'toolChoice'
  | 'parallelToolCalls';

/** For a request that is translated for the model. */
export function withoutEffect(request: LlmRequest, model: CatalogueModel): ReadonlySet<LostWish> {
  const { family, capabilities } = model;
  const lost = new Set<LostWish>();
  const drop = (...wishes: readonly LostWish[]): void => {
    for (const wish of wishes) if (request[wish] !== undefined) lost.add(wish);
  };
  if (family === 'sim') return lost;
  const isSampled = capabilities.has('temperature');
  if (!isSampled) drop('temperature', 'topP', 'topK');
  if (!capabilities.has('reasoning')) drop('reasoningEffort');
  if (sentStops(family, request).length < (request.stop?.length ?? 0)) drop('stop');
  switch (family) {
    case 'anthropic':
    case 'bedrock': {
      const effort = sentEffort(request, model);
      const isOn = effort !== undefined && effort !== 'none';
      if (effort !== request.reasoningEffort) drop('reasoningEffort');
      if (effort === 'none' && capabilities.has('always_thinks')) drop('reasoningEffort');
      if (isOn) drop('temperature', 'topP', 'topK');
      if (request.temperature !== undefined) drop('topP');
      const forces = request.toolChoice === 'required' || typeof request.toolChoice === 'object';
      if (forces && !capabilities.has('forced_tools')) drop('toolChoice');
      break;
    }
    case 'google':
      break;
    case 'xai':
    case 'compatible':
      // Most of their models refuse the field.
      drop('reasoningEffort');
      if (!isSampled) drop('stop');
      break;
    case 'openai':
    case 'openrouter':
      if (!isSampled) drop('stop');
  }
  if ((family === 'google' || family === 'bedrock') && request.parallelToolCalls === false) {
    drop('parallelToolCalls');
  }
  return lost;
}
