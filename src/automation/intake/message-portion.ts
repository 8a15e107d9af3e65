import type { Store } from '../../infra/storage/index.js';
import { knownKeys } from '../inbox/inbox.store.js';
import type { ChannelMessage } from './channels.js';
import type { Admitted } from './incoming-request.js';
import { messageKeyOf } from './message-key.js';

/** The most messages of one channel request that are accepted at once, since the sender waits. */
const messagesMax = 50;

export interface Portion {
  readonly messages: readonly ChannelMessage[];
  /** Whether messages are left for the sender's next try. */
  readonly more: boolean;
}

/** Selects the first messages of a very long request that no earlier request has delivered. */
export async function portionOf(
  store: Pick<Store, 'inTenant'>,
  { trigger, config }: Pick<Admitted, 'trigger' | 'config'>,
  all: readonly ChannelMessage[],
): Promise<Portion> {
  if (all.length <= messagesMax) return { messages: all, more: false };
  const keyed = all.map((message) => ({ message, key: messageKeyOf({}, message)?.key ?? '' }));
  const keys = keyed.map(({ key }) => key);
  const known = await store.inTenant(trigger.scope, (tx) => knownKeys(trigger.scope, tx, trigger.id, keys));
  const left = keyed.filter(
    // Pictures leave no row, so they cannot be recognised as known.
    ({ message, key }) =>
      !known.has(key) && (config.query_extraction !== undefined || message.text.trim() !== ''),
  );
  if (left.length === 0) return { messages: all.slice(-1), more: false };
  const messages = left.slice(0, messagesMax).map(({ message }) => message);
  return { messages, more: left.length > messagesMax };
}
