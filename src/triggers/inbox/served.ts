import type { TenantScope } from '../../context/tenant-scope.js';
import type { Gates } from '../gates.js';
import type { Work } from './work.js';

/**
 * Of the messages of a buffer those whose senders are served. Where all are of one person, or nobody is left, that is for
 * whoever runs them to judge, and to record.
 */
export async function served(
  gates: Pick<Gates, 'isDenied'>,
  scope: TenantScope,
  parts: readonly Work[],
): Promise<readonly Work[]> {
  const senders = new Set(parts.map(({ consumerKey }) => consumerKey));
  if (senders.size <= 1) return parts;
  const denied = new Set<string | undefined>();
  for (const sender of senders) if (await gates.isDenied(scope, sender)) denied.add(sender);
  const left = parts.filter(({ consumerKey }) => !denied.has(consumerKey));
  return left.length > 0 ? left : parts;
}
