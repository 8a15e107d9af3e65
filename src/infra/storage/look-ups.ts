import type { Time } from '../../../cluster/index.js';
import { StoreError } from './errors.js';

export interface LookUpsOptions<Row> {
  /** What is found of these keys; what is not in the answer does not exist. */
  readonly find: (keys: readonly string[]) => Promise<ReadonlyMap<string, Row>>;
  readonly time: Time;
  /** From the begin of one question to the next; 0: the next begins when the last has its answer. */
  readonly everyMs: number;
  readonly perQuestionMax: number;
  /** Beyond this many that wait, a look-up is refused as overloaded. */
  readonly waitingMax: number;
}

interface Waiting<Row> {
  readonly found: Promise<Row | undefined>;
  readonly resolve: (row: Row | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Look-ups that share questions to the store. A lone one is asked at once; those that come while it is asked go
 * together with the next question. So the number of questions is bounded by how long one takes, however many keys
 * somebody invents, and the answer is always the store's: nothing is remembered, so nothing can be out of date.
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
      return Promise.reject(new StoreError('overloaded', 'too many look-ups wait'));
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

/** `Promise.withResolvers`, which Node 20 lacks. */
function withResolvers<Value>() {
  let resolve!: (value: Value) => void;
  let reject!: (error: unknown) => void;
  const promise = new Promise<Value>((onValue, onError) => {
    resolve = onValue;
    reject = onError;
  });
  return { promise, resolve, reject };
}
