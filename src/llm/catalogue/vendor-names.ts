/** The built-in vendors. The simulated vendor `sim` is not one of them. */
export const builtInVendors = ['openai', 'anthropic', 'google', 'xai', 'openrouter'] as const;
export type BuiltInVendor = (typeof builtInVendors)[number];
