import type { Time } from '../../../cluster/index.js';
import { PlatformError } from '../../kernel/errors.js';
import type { HotReads, Store } from '../../infra/storage/index.js';
import { acknowledgement } from '../outbox/replies/acknowledgement.js';
import { syncDeadlineMs } from '../outbox/replies/deadlines.js';
import type { Rendered } from '../outbox/replies/formats.js';
import type { WebhookConfig } from '../triggers/config/webhook-config.js';
import { findByKey, forgetExpired, type InboxRow, placeInBuffer } from '../inbox/inbox.store.js';
import type { LiveTrigger } from '../triggers/live-triggers.js';
import type { MessageKey } from './message-key.js';

const lookEveryMs = 250;

/** Answers repeated messages with the first response, without running them again. */
export class RepeatedMessages {
  readonly #store: Store;
  readonly #reads: HotReads;
  readonly #time: Time;

  constructor(store: Store, reads: HotReads, time: Time) {
    this.#store = store;
    this.#reads = reads;
    this.#time = time;
  }

  /** Undefined if the first message is past its retention, so that this one counts as new. */
  async answer(
    trigger: LiveTrigger,
    config: WebhookConfig,
    row: InboxRow,
    key: MessageKey,
    hash: string,
  ): Promise<Rendered | undefined> {
    const { scope } = trigger;
    if (row.expired && (row.state === 'done' || row.state === 'merged')) {
      await this.#store.inTenant(scope, (tx) => forgetExpired(scope, tx, trigger.id, key.key));
      return undefined;
    }
    if (key.strict && row.payload_hash !== hash) {
      throw new PlatformError('conflict', { message: 'The key was used before, with another payload.' });
    }
    if (row.answer !== null) return row.answer;
    if (row.state === 'buffered' || row.state === 'merged') {
      const buffered = await this.#store.inTenant(scope, (tx) => placeInBuffer(scope, tx, row));
      const names = () => ({ trigger_id: trigger.id, session_id: row.session_id });
      return acknowledgement(config.execution, names, { success: true, status: 'buffered', buffered });
    }
    return this.#whenAnswered(trigger, key);
  }

  /** Waits for the first message, which still runs here or on another node. */
  async #whenAnswered(trigger: LiveTrigger, { key }: MessageKey): Promise<Rendered> {
    const endsAt = this.#time.monotonicMs() + syncDeadlineMs;
    while (this.#time.monotonicMs() < endsAt) {
      const row = await findByKey(this.#reads, trigger.scope, trigger.id, key);
      if (row?.answer !== null && row !== undefined) return row.answer;
      // The first was refused or given up: a repeat starts anew, or learns the end from the execution.
      if (row?.state !== 'running') break;
      await new Promise<void>((resolve) => void this.#time.after(lookEveryMs, resolve));
    }
    throw new PlatformError('service_unavailable', {
      message: 'The first request with this key has not been answered yet.',
      retryAfterSeconds: 1,
    });
  }
}
