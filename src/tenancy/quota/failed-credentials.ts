import type { LRUCache } from 'lru-cache';
import { recentEntries } from '../../kernel/recent-entries.js';
import type { Time } from '../../../cluster/index.js';
import { addressGroup } from '../../kernel/address.js';
import type { PlatformError } from '../../kernel/errors.js';
import { ClientWindows } from './client-windows.js';
import type { WindowExchange } from './window-exchange.js';

/** Far above the rate of a misconfigured client, far below the rate that a search for keys needs. */
export const failuresPerMinute = 600;
/** After an address has used up its failures, one credential per this interval is checked. */
const checkEveryMs = 100;

/**
 * Counts wrong credentials by address in a separate window: a 401 does not use up the address's window of anonymous
 * requests. A right credential is never refused because of wrong ones from the same address.
 */
export class FailedCredentials {
  readonly #time: Time;
  readonly #windows: ClientWindows;
  readonly #checkedAtMs: LRUCache<string, number>;

  constructor(time: Time, windowsMax: number, exchange?: WindowExchange) {
    this.#time = time;
    this.#windows = new ClientWindows('failures', { time, windowsMax, exchange });
    this.#checkedAtMs = recentEntries(windowsMax);
  }

  /** True if the address has used up its failures: its requests may wait behind those of others. */
  isOver(address: string): boolean {
    return this.#windows.used(addressGroup(address)) >= failuresPerMinute;
  }

  /** Counts a failure. Returns the refusal if the address has none left. */
  note(address: string): PlatformError | undefined {
    return this.#windows.countAtOnce(addressGroup(address), failuresPerMinute).refusal;
  }

  /** The refusal of a credential whose check is costly, if the address has used its check of this interval. */
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
}
