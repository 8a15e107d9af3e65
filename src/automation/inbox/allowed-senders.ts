import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { SenderBlocks } from '../messages/sender-blocks.js';
import type { MessagePayload } from '../messages/message-payload.js';

/**
 * Of the messages of a buffer those whose senders are served. Where all are of one person, or nobody is left, that is for
 * whoever runs them to judge, and to record.
 */
export async function fromAllowedSenders(
  gates: Pick<SenderBlocks, 'isDenied'>,
  scope: TenantScope,
  parts: readonly MessagePayload[],
): Promise<readonly MessagePayload[]> {
  const senders = new Set(parts.map(({ consumerKey }) => consumerKey));
  if (senders.size <= 1) return parts;
  const denied = new Set<string | undefined>();
  for (const sender of senders) if (await gates.isDenied(scope, sender)) denied.add(sender);
  const left = parts.filter(({ consumerKey }) => !denied.has(consumerKey));
  return left.length > 0 ? left : parts;
}
