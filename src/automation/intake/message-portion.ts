import type { Store } from '../../infra/storage/index.js';
import { knownKeys } from '../inbox/inbox.store.js';
import type { ChannelMessage } from './channels.js';
import type { Admitted } from './incoming-request.js';
import { messageKeyOf } from './message-key.js';

/** Messages of one request of a channel that are taken in one go, since its sender waits. */
const messagesMax = 50;

export interface Portion {
  readonly messages: readonly ChannelMessage[];
  /** Others are left, for the request that comes again. */
  readonly more: boolean;
}

/** Of very many messages in one request those that have not been taken by an earlier one, and of them the first. */
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
    // Pictures leave no trace by which they would be known.
    ({ message, key }) =>
      !known.has(key) && (config.query_extraction !== undefined || message.text.trim() !== ''),
  );
  if (left.length === 0) return { messages: all.slice(-1), more: false };
  const messages = left.slice(0, messagesMax).map(({ message }) => message);
  return { messages, more: left.length > messagesMax };
}
