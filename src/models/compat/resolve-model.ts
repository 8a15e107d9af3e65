import type { Catalogue, Resolution } from '../../llm/index.js';

/**
 * Doors in another vendor's form take that vendor's own model names too, so that whoever moves changes one line:
 * `gpt-4.1` at OpenAI's door is `openai.gpt-4.1`.
 */
export function resolveVendorModel(
  catalogue: Catalogue,
  model: string,
  vendor: 'openai' | 'anthropic',
): Resolution {
  const named = catalogue.resolve(model);
  return 'model' in named ? named : catalogue.resolve(model, vendor);
}
