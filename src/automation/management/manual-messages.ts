import { createHash } from 'node:crypto';
import { actorOf, type TenantCaller } from '../../kernel/caller.js';
import { authorFrom, webChannel } from '../../conversations/invocation/index.js';
import { PlatformError } from '../../kernel/errors.js';
import { messageWrittenAt, type Sessions } from '../../conversations/sessions/index.js';
import type { Store } from '../../infra/storage/index.js';
import type { Ids } from '../../kernel/chance.js';
import type { Outbox } from '../outbox/outbox.js';

export interface ManualMessagesParts {
  readonly ids: Ids;
  readonly store: Store;
  readonly outbox: Pick<Outbox, 'sendManual' | 'wasSent'>;
  readonly sessions: Pick<Sessions, 'session' | 'append'>;
}

export interface WrittenMessage {
  readonly sessionId: string;
  readonly text: string;
  /** The caller's key, which identifies a repeat of the message. */
  readonly key: string | undefined;
}

/**
 * Sends messages that people write in a session that was handed to them. A message is sent first, then added to the
 * conversation together with its event, all under one id: a repeat with the same key completes what a crash left
 * undone. The page of a web chat asks for new messages itself, so nothing is sent to it.
 */
export class ManualMessages {
  readonly #parts: ManualMessagesParts;

  constructor(parts: ManualMessagesParts) {
    this.#parts = parts;
  }

  async send(
    caller: TenantCaller,
    { sessionId, text, key }: WrittenMessage,
  ): Promise<{ readonly messageId: string; readonly deliveredAt: Date }> {
    const { store, outbox, sessions } = this.#parts;
    const { scope } = caller;
    const session = await sessions.session(scope, sessionId);
    const messageId = key === undefined ? this.#parts.ids.uuid() : messageIdOf(sessionId, key);
    const writtenAt =
      key === undefined
        ? null
        : await store.inTenant(scope, (tx) => messageWrittenAt(tx, sessionId, messageId));
    const isOfPage = session.channel === webChannel;
    if (isOfPage && writtenAt !== null) return { messageId, deliveredAt: writtenAt };
    const isRepeat = !isOfPage && key !== undefined && (await outbox.wasSent(scope, messageId));
    if (!isRepeat && session.control_mode === 'engaged') {
      throw new PlatformError('INVALID_SESSION_STATE', {
        message: 'The agent still controls this session. Take it over first.',
      });
    }
    const sent = isOfPage ? undefined : await outbox.sendManual(scope, { sessionId, messageId, text });
    // For a late repeat: the session remembers only its last messages.
    if (sent !== undefined && isRepeat && writtenAt !== null) return { messageId, ...sent };
    const appendedAt = await sessions.append(scope, sessionId, {
      id: messageId,
      content: text,
      metadata: { manual: true, by: actorOf(caller) },
      mustBeHandedOff: false,
      writtenBy: actorOf(caller),
      author: authorFrom(caller),
    });
    return { messageId, deliveredAt: sent?.deliveredAt ?? appendedAt };
  }
}

/** The same key in the same session is the same message. */
function messageIdOf(sessionId: string, key: string): string {
  const digest = createHash('sha256')
    .update(JSON.stringify(['manual message', sessionId, key]))
    .digest('hex');
  return digest.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, '$1-$2-8$3-a$4-$5');
}
