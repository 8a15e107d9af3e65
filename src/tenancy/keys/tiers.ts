export const tiers = ['default', 'basic', 'premium', 'enterprise'] as const;
export type Tier = (typeof tiers)[number];

/** The tier of a key, by its requests per minute. */
export function tierOf(requestsPerMinute: number): Tier {
  if (requestsPerMinute <= 10) return 'default';
  if (requestsPerMinute <= 50) return 'basic';
  if (requestsPerMinute <= 200) return 'premium';
  return 'enterprise';
}
