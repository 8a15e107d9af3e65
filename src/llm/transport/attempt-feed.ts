import { isSignal, type ReplyItem } from '../contract.js';
import { TooLargeError, VendorError, type Clock } from '../vendor-error.js';
import { AttemptClocks, type ClockLimits } from './attempt-clocks.js';
import type { CallTime } from './call-time.js';
import { transportLimits } from './limits.js';

/** A running attempt. */
export interface Attempt {
  /**
   * Returns everything that arrived since the last call. All pieces of one socket read are in one list, so that they
   * can leave in one write.
   */
  take(): readonly ReplyItem[];
  /** The source has ended; items that arrived before may still wait to be taken. */
  readonly ended: boolean;
  /** Resolves when an item arrives or the source ends. */
  wait(): Promise<void>;
  /** Closes the vendor's connection at once. */
  abort(): void;
  readonly facts: AttemptFacts;
}

export interface AttemptFacts {
  readonly startedAtMs: number;
  /** The request began to be written, so the vendor may have read it. */
  sent: boolean;
  /** A success status arrived: the vendor has read the prompt. */
  accepted: boolean;
  /** The reply was sent whole and has arrived: a usage in it is final. */
  whole: boolean;
  firstSignalAtMs: number | undefined;
  endedAtMs: number | undefined;
  vendorRequestId: string | undefined;
}

export interface FeedOptions {
  readonly vendor: string;
  readonly time: CallTime;
  readonly clocks: ClockLimits;
}

/**
 * Between a source that pushes (a socket) and a reader that pulls. The reader takes everything at once; while it is
 * behind by more than the backlog the source is told to pause.
 */
export class AttemptFeed implements Attempt {
  readonly facts: AttemptFacts;
  readonly #vendor: string;
  readonly #time: CallTime;
  readonly #clocks: AttemptClocks;
  #items: ReplyItem[] = [];
  #backlogBytes = 0;
  #ended = false;
  #wake: (() => void) | undefined;
  #signalled = false;
  #paused = false;
  /** Set by the source. */
  source: { pause(): void; resume(): void; close(): void } | undefined;

  constructor(options: FeedOptions) {
    this.#vendor = options.vendor;
    this.#time = options.time;
    this.facts = {
      startedAtMs: options.time.monotonicMs(),
      sent: false,
      accepted: false,
      whole: false,
      firstSignalAtMs: undefined,
      endedAtMs: undefined,
      vendorRequestId: undefined,
    };
    this.#clocks = new AttemptClocks(options.time, options.clocks, (clock) => this.#expire(clock));
  }

  get ended(): boolean {
    return this.#ended;
  }

  /**
   * `read` appends what it finds in `bytes` of input; an item of type `failure` ends the attempt, and so does the `last`
   * input.
   */
  accept(bytes: number, read: (out: ReplyItem[]) => void, last = false): void {
    if (this.#ended) return;
    const before = this.#items.length;
    try {
      read(this.#items);
    } catch (cause) {
      // An adapter throws only because of what the vendor sent: this attempt fails, not the process.
      const what = cause instanceof Error ? cause.message : 'something unreadable';
      const failure = cause instanceof TooLargeError ? 'too_large' : 'nonsense';
      const error = new VendorError(failure, `the vendor sent ${what}`, { vendor: this.#vendor, cause });
      this.#items.push({ type: 'failure', error });
    }
    const added = this.#items.length - before;
    if (added === 0 && !last) return;
    this.#note(before);
    if (added > 0 && this.#items.at(-1)?.type === 'failure') {
      this.#end();
      this.source?.close();
    } else if (last) this.#end();
    else {
      this.#clocks.progress(this.#signalled);
      this.#backlogBytes += bytes;
      if (this.#backlogBytes > transportLimits.backlogBytesMax && !this.#paused) {
        this.#paused = true;
        this.#clocks.hold();
        this.source?.pause();
      }
    }
    this.#wakeReader();
  }

  fail(error: VendorError): void {
    if (this.#ended) return;
    this.#items.push({ type: 'failure', error });
    this.#end();
    this.#wakeReader();
  }

  finish(): void {
    if (this.#ended) return;
    this.#end();
    this.#wakeReader();
  }

  abort(): void {
    if (this.#ended) return;
    this.fail(new VendorError('cancelled', 'the caller left', { vendor: this.#vendor }));
    this.source?.close();
  }

  take(): readonly ReplyItem[] {
    const items = this.#items;
    if (items.length === 0) return items;
    this.#items = [];
    this.#backlogBytes = 0;
    if (this.#paused && !this.#ended) {
      this.#paused = false;
      this.#clocks.release();
      this.source?.resume();
    }
    return items;
  }

  wait(): Promise<void> {
    if (this.#items.length > 0 || this.#ended) return Promise.resolve();
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  #note(from: number): void {
    for (let index = from; !this.#signalled && index < this.#items.length; index += 1) {
      const item = this.#items[index];
      if (item === undefined || !isSignal(item)) continue;
      this.#signalled = true;
      this.facts.firstSignalAtMs = this.#time.monotonicMs();
    }
  }

  #expire(clock: Clock): void {
    const error = new VendorError('timeout', `the vendor's answer exceeded the ${clock} clock`, {
      vendor: this.#vendor,
      clock,
    });
    this.fail(error);
    this.source?.close();
  }

  #end(): void {
    this.#ended = true;
    this.#clocks.stop();
    this.facts.endedAtMs = this.#time.monotonicMs();
  }

  #wakeReader(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }
}
