import { anthropicAdapter } from './anthropic/adapter.js';
import type { CompatibleVendor } from './catalogue/models-file.js';
import { assertNewVendor } from './catalogue/catalogue.js';
import type { CloudVendor } from './clouds/cloud-vendor.js';
import { compatibleAdapter } from './compatible/adapter.js';
import { googleAdapter } from './google/adapter.js';
import { openaiAdapter } from './openai/adapter.js';
import { openrouterAdapter } from './openrouter/adapter.js';
import type { VendorAdapter } from './vendor.js';
import { xaiAdapter } from './xai/adapter.js';

/** The default base addresses of the vendors, in the format of their own SDKs. */
export const defaultBaseUrls = {
  openai: 'https://api.openai.com/v1',
  anthropic: 'https://api.anthropic.com',
  google: 'https://generativelanguage.googleapis.com',
  xai: 'https://api.x.ai/v1',
  openrouter: 'https://openrouter.ai/api/v1',
} as const;

/** One adapter per vendor: the built-in vendors and the operator's own. */
export function adaptersByVendor(
  compatible: readonly CompatibleVendor[],
  clouds: readonly CloudVendor[] = [],
): ReadonlyMap<string, VendorAdapter> {
  const adapters = new Map<string, VendorAdapter>();
  for (const adapter of [openaiAdapter, anthropicAdapter, googleAdapter, xaiAdapter, openrouterAdapter]) {
    adapters.set(adapter.vendor, adapter);
  }
  for (const vendor of compatible) {
    assertNewVendor(vendor.name);
    adapters.set(vendor.name, compatibleAdapter(vendor.name));
  }
  for (const { name, adapter } of clouds) adapters.set(name, adapter);
  return adapters;
}
