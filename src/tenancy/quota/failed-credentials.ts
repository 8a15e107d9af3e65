import { LRUCache } from 'lru-cache';
import type { Time } from '../../../cluster/index.js';
import { addressGroup } from '../../kernel/address.js';
import type { PlatformError } from '../../kernel/errors.js';
import { type Now, windowFull } from './refusals.js';
import { WindowSet } from './window-set.js';

/** Far above what a client with a wrong setting sends, far below what a search for keys needs. */
export const failuresPerMinute = 600;
/** From an address that used up its failures, a credential that costs a check is checked this often. */
const checkEveryMs = 100;

/**
 * Credentials that were wrong, counted by address in a window of their own: the address's window of anonymous requests
 * is not lowered by a 401. A right credential is never refused for the wrong ones that came from the same address.
 */
export class FailedCredentials {
  readonly #time: Time;
  readonly #windows: WindowSet;
  readonly #checkedAtMs: LRUCache<string, number>;

  constructor(time: Time, windowsMax: number) {
    this.#time = time;
    this.#windows = new WindowSet(windowsMax);
    this.#checkedAtMs = new LRUCache({ max: windowsMax });
  }

  /** True for an address that used up its failures: what it sends may wait behind what others send. */
  isOver(address: string): boolean {
    const window = this.#windows.peek(addressGroup(address));
    return window !== undefined && window.used(this.#time.monotonicMs()) >= failuresPerMinute;
  }

  /** Counts a failure; the refusal where the address has none left, else undefined. */
  note(address: string): PlatformError | undefined {
    const window = this.#windows.window(addressGroup(address));
    const now = this.#now();
    if (window.used(now.monotonicMs) >= failuresPerMinute) {
      return windowFull(window, failuresPerMinute, now).refusal;
    }
    window.add(now.monotonicMs);
    return undefined;
  }

  /** The refusal of a credential that would cost a check, where the address has had its check of this moment. */
  beforeCheck(address: string): PlatformError | undefined {
    if (!this.isOver(address)) return undefined;
    const group = addressGroup(address);
    const nowMs = this.#time.monotonicMs();
    if (nowMs - (this.#checkedAtMs.get(group) ?? -Infinity) >= checkEveryMs) {
      this.#checkedAtMs.set(group, nowMs);
      return undefined;
    }
    return this.note(address);
  }

  #now(): Now {
    return { monotonicMs: this.#time.monotonicMs(), wallMs: this.#time.wallMs() };
  }
}
