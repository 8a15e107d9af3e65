import type { Time, Timer } from '../../../cluster/index.js';
import type { Store } from '../../infra/storage/index.js';
import { deleteOldMails } from '../messages/mail-threads.store.js';
import { deleteOldDeliveries, deleteOldReplies } from '../outbox/retention.store.js';

/** Each deletes a batch of rows that are no longer needed, and returns how many there were. */
const deletions = [deleteOldDeliveries, deleteOldMails, deleteOldReplies];

const everyMs = 600_000;
/** Small batches, so that other transactions do not wait long for locks or disk space. */
const rowsMax = 500;

export interface RetentionParts {
  readonly store: Store;
  readonly time: Time;
  readonly report: (attempted: string, error: unknown) => void;
}

/** Deletes rows of triggers whose retention has passed. Several nodes may do so at once. */
export class Retention {
  readonly #parts: RetentionParts;
  #timer: Timer | undefined;
  #stopped = false;

  constructor(parts: RetentionParts) {
    this.#parts = parts;
  }

  start(): void {
    if (this.#stopped) return;
    this.#timer = this.#parts.time.after(everyMs, () => {
      void this.deleteOld()
        .catch((error: unknown) => this.#parts.report('deleting old rows of triggers', error))
        .finally(() => this.start());
    });
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  async deleteOld(): Promise<void> {
    for (const some of deletions) {
      let count = rowsMax;
      while (count === rowsMax && !this.#stopped) {
        count = await this.#parts.store.directory((tx) => some(tx, rowsMax));
      }
    }
  }
}
