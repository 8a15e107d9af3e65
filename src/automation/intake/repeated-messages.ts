import type { Time } from '../../../cluster/index.js';
import { PlatformError } from '../../kernel/errors.js';
import type { HotReads, Store } from '../../infra/storage/index.js';
import { acknowledgement } from '../outbox/replies/acknowledgement.js';
import type { Rendered } from '../outbox/replies/formats.js';
import { findByKey, deleteExpired, type InboxRow, placeInBuffer } from '../inbox/inbox.store.js';
import type { KeyedMessage } from './incoming-request.js';
import type { MessageKey } from './message-key.js';
import { WaitingRepeats } from './waiting-repeats.js';

export interface FirstAnswer {
  /** Undefined while the first message has none. */
  readonly answer: Rendered | undefined;
}

/** Answers repeated messages with the first response, without running them again. */
export class RepeatedMessages {
  readonly #store: Store;
  readonly #reads: HotReads;
  readonly #waiting: WaitingRepeats;

  constructor(store: Store, reads: HotReads, time: Time) {
    this.#store = store;
    this.#reads = reads;
    this.#waiting = new WaitingRepeats(reads, time);
  }

  /** The answer to the first message, which may still run here or on another node; undefined if this one is new. */
  async answer(asked: KeyedMessage, key: MessageKey): Promise<FirstAnswer | undefined> {
    const { scope, id } = asked.trigger;
    const row = await this.#first(asked, key);
    if (row === undefined) return undefined;
    if (row.is_over) {
      await this.#store.inTenant(scope, (tx) => deleteExpired(scope, tx, id, key.key));
      return undefined;
    }
    const answer = await this.#answerIn(row, asked, key);
    if (answer !== undefined) return { answer };
    return { answer: await this.#waiting.whenAnswered({ scope, triggerId: id, key: key.key }) };
  }

  /** The same as it is now: does not wait for the first answer, and deletes nothing. */
  async look(asked: KeyedMessage, key: MessageKey): Promise<FirstAnswer | undefined> {
    const row = await this.#first(asked, key);
    if (row === undefined || row.is_over) return undefined;
    return { answer: await this.#answerIn(row, asked, key) };
  }

  #first({ trigger: { scope, id } }: KeyedMessage, { key }: MessageKey): Promise<InboxRow | undefined> {
    return findByKey(this.#reads, scope, id, key);
  }

  async #answerIn(
    row: InboxRow,
    { trigger: { scope, id }, config, hash }: KeyedMessage,
    { strict }: MessageKey,
  ): Promise<Rendered | undefined> {
    if (strict && row.payload_hash !== hash) {
      throw new PlatformError('idempotency_key_reused', {
        message:
          'This idempotency key was used before, with another payload. Use a new key for a new message.',
      });
    }
    if (row.answer !== null) return row.answer;
    if (row.state !== 'buffered' && row.state !== 'merged') return undefined;
    const buffered = await this.#store.inTenant(scope, (tx) => placeInBuffer(scope, tx, row));
    const names = () => ({ trigger_id: id, session_id: row.session_id });
    return acknowledgement(config.execution, names, { success: true, status: 'buffered', buffered });
  }
}

/** Throws if the first message has no answer yet: the sender tries again. */
export function answerOf({ answer }: FirstAnswer): Rendered {
  if (answer !== undefined) return answer;
  throw new PlatformError('service_unavailable', {
    message: 'The first request with this key has not been answered yet.',
    retryAfterSeconds: 1,
  });
}
