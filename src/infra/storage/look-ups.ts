import type { Time } from '../../../cluster/index.js';
import { StoreError } from './errors.js';

export interface LookUpsOptions<Row> {
  /** Finds the rows of these keys; a key missing from the result does not exist. */
  readonly find: (keys: readonly string[]) => Promise<ReadonlyMap<string, Row>>;
  readonly time: Time;
  /** Minimum time from the start of one query to the next; 0: the next starts when the last has its answer. */
  readonly everyMs: number;
  readonly perQuestionMax: number;
  /** With this many look-ups waiting, further ones are refused as overloaded. */
  readonly waitingMax: number;
}

interface Waiting<Row> {
  readonly found: Promise<Row | undefined>;
  readonly resolve: (row: Row | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Look-ups that share queries to the store. A single one is sent at once; those that arrive meanwhile go together into
 * the next query. So the duration of a query bounds their number, however many keys a client invents. Nothing is cached,
 * so every answer comes from the store and none can be out of date.
 */
export class LookUps<Row> {
  readonly #options: LookUpsOptions<Row>;
  readonly #waiting = new Map<string, Waiting<Row>>();
  #asking = false;
  #nextAtMs = -Infinity;

  constructor(options: LookUpsOptions<Row>) {
    this.#options = options;
  }

  get(key: string): Promise<Row | undefined> {
    const same = this.#waiting.get(key);
    if (same !== undefined) return same.found;
    if (this.#waiting.size >= this.#options.waitingMax) {
      return Promise.reject(new StoreError('overloaded', 'too many look-ups are waiting'));
    }
    const { promise: found, resolve, reject } = withResolvers<Row | undefined>();
    this.#waiting.set(key, { found, resolve, reject });
    this.#askSoon();
    return found;
  }

  #askSoon(): void {
    if (this.#asking || this.#waiting.size === 0) return;
    this.#asking = true;
    const { time } = this.#options;
    const waitMs = this.#nextAtMs - time.monotonicMs();
    if (waitMs <= 0) void this.#ask();
    else time.after(waitMs, () => void this.#ask());
  }

  async #ask(): Promise<void> {
    const { find, time, everyMs, perQuestionMax } = this.#options;
    this.#nextAtMs = time.monotonicMs() + everyMs;
    const asked = [...this.#waiting].slice(0, perQuestionMax);
    for (const [key] of asked) this.#waiting.delete(key);
    try {
      const rows = await find(asked.map(([key]) => key));
      for (const [key, { resolve }] of asked) resolve(rows.get(key));
    } catch (error) {
      for (const [, { reject }] of asked) reject(error);
    }
    this.#asking = false;
    this.#askSoon();
  }
}

/** `Promise.withResolvers`, which Node 20 does not have. */
function withResolvers<Value>() {
  let resolve!: (value: Value) => void;
  let reject!: (error: unknown) => void;
  const promise = new Promise<Value>((onValue, onError) => {
    resolve = onValue;
    reject = onError;
  });
  return { promise, resolve, reject };
}
