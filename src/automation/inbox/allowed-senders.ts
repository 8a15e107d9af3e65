import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { SenderBlocks } from '../messages/sender-blocks.js';
import type { MessagePayload } from '../messages/message-payload.js';
import type { TriggerConfig } from '../triggers/types/registry.js';

/**
 * The messages of a buffer whose senders are not refused. If they all have one sender, or every sender is refused, all
 * are returned: the runner checks the sender again and records the refusal.
 */
export async function fromAllowedSenders(
  senderBlocks: Pick<SenderBlocks, 'isRefused'>,
  scope: TenantScope,
  parsed: TriggerConfig | undefined,
  parts: readonly MessagePayload[],
): Promise<readonly MessagePayload[]> {
  const senders = new Set(parts.map(({ consumerKey }) => consumerKey));
  if (senders.size <= 1) return parts;
  const refused = new Set<string | undefined>();
  for (const sender of senders) if (await senderBlocks.isRefused(scope, parsed, sender)) refused.add(sender);
  const left = parts.filter(({ consumerKey }) => !refused.has(consumerKey));
  return left.length > 0 ? left : parts;
}
