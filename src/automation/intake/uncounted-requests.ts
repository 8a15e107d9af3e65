import { addressGroup } from '../../kernel/address.js';
import type { PlatformError } from '../../kernel/errors.js';
import type { ClientWindows } from '../../tenancy/quota/index.js';

/** As many as wrong credentials: a gateway may send notices and repeats that run nothing. */
const perMinute = 600;
/** A body of 100 KB can hold 50,000 values, which take 60 ms: 60 of those a minute, 600 small ones. */
const bytesEach = 10_000;
const weightMax = 10;

/**
 * Counts by address the requests to webhooks without a credential that their tenant's window does not count, so that it
 * does not bound them: those that end before it, and those that it refuses.
 */
export class UncountedRequests {
  readonly #windows: Pick<ClientWindows, 'countAtOnce' | 'refusal' | 'used'>;

  constructor(windows: Pick<ClientWindows, 'countAtOnce' | 'refusal' | 'used'>) {
    this.#windows = windows;
  }

  /** The refusal of an address that sent too many requests that ended early. Counts nothing. */
  refusal(address: string): PlatformError | undefined {
    return this.#windows.refusal(addressGroup(address), perMinute);
  }

  /**
   * True if the tenants' windows refused very many requests of the address: they are asked before the payload is read. The
   * address itself is not refused, since a gateway that exceeds its tenant's plan shall have the plan's rate.
   */
  isRefusedOften(address: string): boolean {
    return this.#windows.used(refusedName(address)) >= perMinute;
  }

  noteEnded(address: string, bytes: number): void {
    this.#count(addressGroup(address), bytes);
  }

  noteRefused(address: string, bytes: number): void {
    this.#count(refusedName(address), bytes);
  }

  #count(name: string, bytes: number): void {
    const weight = Math.min(weightMax, 1 + Math.floor(bytes / bytesEach));
    for (let counted = 0; counted < weight; counted += 1) this.#windows.countAtOnce(name, perMinute);
  }
}

function refusedName(address: string): string {
  return `refused ${addressGroup(address)}`;
}
