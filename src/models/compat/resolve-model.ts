import type { Catalogue, Resolution } from '../../llm/index.js';

/**
 * The compatible interfaces also accept the vendor's own model names, so that a client moves by changing one line:
 * `gpt-4.1` at the OpenAI-compatible interface is `openai.gpt-4.1`.
 */
export function resolveVendorModel(
  catalogue: Catalogue,
  model: string,
  vendor: 'openai' | 'anthropic',
): Resolution {
  const named = catalogue.resolve(model);
  return 'model' in named ? named : catalogue.resolve(model, vendor);
}
