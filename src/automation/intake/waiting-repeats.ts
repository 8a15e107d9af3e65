import { sleep, type Time, within } from '../../../cluster/index.js';
import { tooManyRequests } from '../../kernel/errors.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { HotReads } from '../../infra/storage/index.js';
import { findByKey } from '../inbox/inbox.store.js';
import { syncDeadlineMs } from '../outbox/replies/deadlines.js';
import type { Rendered } from '../outbox/replies/formats.js';

const lookEveryMs = 250;
/** Repeats that wait on this node for first answers of one trigger. They are not counted as the messages they repeat. */
const waitingMax = 100;
/** When one that found no place should try again. */
const retryMs = 5_000;

/** The first message of a key, which runs here or on another node. */
export interface FirstMessage {
  readonly scope: TenantScope;
  readonly triggerId: string;
  readonly key: string;
}

interface Waiting {
  repeats: number;
  readonly answer: Promise<Rendered | undefined>;
}

/** Repeats that wait for the answer to their first message. All that wait for one message share its reads. */
export class WaitingRepeats {
  readonly #reads: Pick<HotReads, 'inTenant'>;
  readonly #time: Time;
  readonly #waiting = new Map<string, Waiting>();
  /** How many repeats of each trigger wait. */
  readonly #countOf = new Map<string, number>();

  constructor(reads: Pick<HotReads, 'inTenant'>, time: Time) {
    this.#reads = reads;
    this.#time = time;
  }

  /** Undefined if the first message ended without an answer, or has none after the longest time that it may take. */
  async whenAnswered(first: FirstMessage): Promise<Rendered | undefined> {
    const { triggerId } = first;
    const count = this.#countOf.get(triggerId) ?? 0;
    if (count >= waitingMax) throw this.#refusal();
    const waiting = this.#waitingFor(first);
    waiting.repeats += 1;
    this.#countOf.set(triggerId, count + 1);
    try {
      return await within(this.#time, syncDeadlineMs, waiting.answer, () => undefined);
    } finally {
      waiting.repeats -= 1;
      const left = (this.#countOf.get(triggerId) ?? 1) - 1;
      if (left === 0) this.#countOf.delete(triggerId);
      else this.#countOf.set(triggerId, left);
    }
  }

  #waitingFor(first: FirstMessage): Waiting {
    const name = `${first.triggerId}\0${first.key}`;
    const known = this.#waiting.get(name);
    if (known !== undefined) return known;
    const isAwaited = (): boolean => waiting.repeats > 0;
    const waiting: Waiting = { repeats: 0, answer: this.#read(first, name, isAwaited) };
    this.#waiting.set(name, waiting);
    return waiting;
  }

  /** Reads the row until the first message has ended, or no repeat waits any more. */
  async #read(
    { scope, triggerId, key }: FirstMessage,
    name: string,
    isAwaited: () => boolean,
  ): Promise<Rendered | undefined> {
    try {
      do {
        const row = await findByKey(this.#reads, scope, triggerId, key);
        if (row?.answer !== null && row !== undefined) return row.answer;
        // The first was refused or given up: a repeat starts anew, or learns the end from the execution.
        if (row?.state !== 'running') return undefined;
        await sleep(this.#time, lookEveryMs);
      } while (isAwaited());
      return undefined;
    } finally {
      // In the same tick as the end: a repeat that comes now must not join.
      this.#waiting.delete(name);
    }
  }

  #refusal(): Error {
    const nowMs = this.#time.wallMs();
    return tooManyRequests(waitingMax, {
      atMs: nowMs + retryMs,
      nowMs,
      message: `At most ${waitingMax} repeated messages of a trigger wait for first answers at once. Send this one again later.`,
    });
  }
}
