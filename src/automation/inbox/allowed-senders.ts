import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { SenderBlocks } from '../messages/sender-blocks.js';
import type { MessagePayload } from '../messages/message-payload.js';

/**
 * The messages of a buffer whose senders are not denied. If they all have one sender, or every sender is denied, all
 * are returned: the runner checks the sender again and records the refusal.
 */
export async function fromAllowedSenders(
  senderBlocks: Pick<SenderBlocks, 'isDenied'>,
  scope: TenantScope,
  parts: readonly MessagePayload[],
): Promise<readonly MessagePayload[]> {
  const senders = new Set(parts.map(({ consumerKey }) => consumerKey));
  if (senders.size <= 1) return parts;
  const denied = new Set<string | undefined>();
  for (const sender of senders) if (await senderBlocks.isDenied(scope, sender)) denied.add(sender);
  const left = parts.filter(({ consumerKey }) => !denied.has(consumerKey));
  return left.length > 0 ? left : parts;
}
