import type { Time, Timer } from '../../../cluster/index.js';
import type { DatabaseReader } from '../databases/index.js';

/** The pause before a poll that connects anew, so that a server that ends each connection is not asked without end. */
const againAfterMs = 5_000;
/**
 * During a failover the address may lead to a former primary, whose answers have no new rows and no error. It may be a
 * replica on purpose, so a standby is not refused; a connection this old is opened anew and follows the address.
 */
const renewAfterMs = 7 * 60_000;

export interface OpenTableParts {
  /** Connections with the same text serve the same configuration. */
  readonly about: string;
  readonly reader: DatabaseReader;
  readonly keys: readonly string[];
  readonly birth: string | undefined;
  readonly time: Pick<Time, 'after' | 'monotonicMs'>;
  /** Asks for a poll before the source is due. */
  readonly wake: () => void;
}

/** The connections to a tenant's table: one that is polled and, for a trigger with a channel, one that listens. */
export class OpenTable {
  readonly reader: DatabaseReader;
  readonly keys: readonly string[];
  readonly birth: string | undefined;
  readonly #parts: OpenTableParts;
  readonly #openedMs: number;
  #again: Timer | undefined;
  #isStale = false;
  #isEnded = false;
  #isClosed = false;

  constructor(parts: OpenTableParts) {
    this.reader = parts.reader;
    this.keys = parts.keys;
    this.birth = parts.birth;
    this.#parts = parts;
    this.#openedMs = parts.time.monotonicMs();
    void parts.reader.closed.then(() => (this.#isEnded = true));
  }

  async listen(channel: string): Promise<void> {
    const { reader, wake } = this.#parts;
    await reader.listen(channel, { onNotification: wake, onEnd: () => this.#replaceSoon() });
  }

  /**
   * Whether the next poll can use it: it may be too old, its server may have ended a connection that was idle for long or
   * the one that listens, the configuration may have changed.
   */
  async serves(about: string): Promise<boolean> {
    if (this.#isStale || about !== this.#parts.about) return false;
    if (this.#parts.time.monotonicMs() - this.#openedMs >= renewAfterMs) return false;
    try {
      return (await this.reader.isCurrent()) && !this.#isEnded;
    } catch (error) {
      void this.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#again?.cancel();
    await this.reader.close();
  }

  /** Without notifications, rows would wait for the next regular poll. Until the pause is over, polls still use this. */
  #replaceSoon(): void {
    if (this.#isClosed) return;
    const { time, wake } = this.#parts;
    this.#again = time.after(againAfterMs, () => {
      this.#isStale = true;
      wake();
    });
  }
}
