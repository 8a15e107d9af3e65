import { z } from 'zod';
import type { CacheMark } from '../../llm/index.js';

/** `cache_control`, which clients set at parts, tools and messages in both formats. */
export const cacheMark = z
  .object({ type: z.literal('ephemeral'), ttl: z.enum(['5m', '1h']).nullish() })
  .nullish()
  .transform((given): CacheMark | undefined => (given == null ? undefined : { ttl: given.ttl ?? '5m' }));

export function cacheOf(mark: CacheMark | undefined): { cache?: CacheMark } {
  return mark === undefined ? {} : { cache: mark };
}
