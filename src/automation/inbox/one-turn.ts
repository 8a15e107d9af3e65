import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { InboxMessage } from '../messages/inbox-message.js';
import type { SenderBlocks } from '../messages/sender-blocks.js';
import { merged, type MessagePayload } from '../messages/message-payload.js';
import type { TriggerConfig } from '../triggers/types/registry.js';

type Blocks = Pick<SenderBlocks, 'isRefused'>;

/** What a row asks for. The messages of a buffer that do not fit into one turn are all in it, for the case of no turn. */
export async function workOf(
  senderBlocks: Blocks,
  scope: TenantScope,
  parsed: TriggerConfig | undefined,
  messages: readonly MessagePayload[],
): Promise<Pick<InboxMessage, 'work' | 'isForSeveralTurns'>> {
  const first = await inFirstTurn(senderBlocks, scope, parsed, messages);
  return { work: merged(messages, parsed), isForSeveralTurns: first.length < messages.length };
}

/**
 * The messages of a buffer that its first turn answers. A session that is not shared is that of one consumer, and it
 * judges each sender by itself, so a turn has the messages of one sender; no sender counts as one. Where several people
 * share a session, a turn has the messages of all, except of those who are refused.
 */
export async function inFirstTurn(
  senderBlocks: Blocks,
  scope: TenantScope,
  parsed: TriggerConfig | undefined,
  messages: readonly MessagePayload[],
): Promise<readonly MessagePayload[]> {
  const [first] = messages;
  if (first === undefined || messages.every((one) => isOfSameSender(one, first))) return messages;
  if (first.shared !== true) return messages.filter((one) => isOfSameSender(one, first));
  return fromAllowedSenders(
    senderBlocks,
    scope,
    parsed,
    messages.filter(({ shared }) => shared === true),
  );
}

export function isOfSameSender(one: MessagePayload, other: MessagePayload): boolean {
  return one.consumerKey === other.consumerKey && (one.shared === true) === (other.shared === true);
}

/** If every sender is refused, all are returned: the runner checks the sender again and records the refusal. */
async function fromAllowedSenders(
  senderBlocks: Blocks,
  scope: TenantScope,
  parsed: TriggerConfig | undefined,
  messages: readonly MessagePayload[],
): Promise<readonly MessagePayload[]> {
  const senders = new Set(messages.map(({ consumerKey }) => consumerKey));
  const refused = new Set<string | undefined>();
  for (const sender of senders) if (await senderBlocks.isRefused(scope, parsed, sender)) refused.add(sender);
  const left = messages.filter(({ consumerKey }) => !refused.has(consumerKey));
  return left.length > 0 ? left : messages;
}
