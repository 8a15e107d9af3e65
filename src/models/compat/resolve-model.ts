import type { Catalogue, Resolution } from '../../llm/index.js';

/**
 * Where vendors share a bare name, a compatible interface means its own vendor: a client moves by changing one line.
 */
export function resolveVendorModel(
  catalogue: Catalogue,
  model: string,
  vendor: 'openai' | 'anthropic',
): Resolution {
  return catalogue.resolve(model, undefined, vendor);
}
