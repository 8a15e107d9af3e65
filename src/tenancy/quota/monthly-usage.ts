import type { LRUCache } from 'lru-cache';
import { recentEntries } from '../../kernel/recent-entries.js';
import type { Time } from '../../../cluster/index.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import { monthOf } from './calendar.js';

interface Known {
  readonly month: string;
  readonly used: number;
  readonly readAtMs: number;
}

/** Each tenant's use of its monthly tokens. Results are cached briefly, so that polling is cheap. */
export class MonthlyUsage {
  readonly #read: (scope: TenantScope, month: string) => Promise<number>;
  readonly #time: Time;
  readonly #freshMs: number;
  readonly #known: LRUCache<string, Known>;
  readonly #reading = new Map<string, { readonly month: string; readonly used: Promise<number> }>();

  constructor(
    read: (scope: TenantScope, month: string) => Promise<number>,
    options: {
      readonly time: Time;
      readonly tenantsMax: number;
      /** The maximum age of a figure that other nodes add to. Tokens that this node adds show at once. */
      readonly freshMs: number;
    },
  ) {
    this.#read = read;
    this.#time = options.time;
    this.#freshMs = options.freshMs;
    this.#known = recentEntries(options.tenantsMax);
  }

  used(scope: TenantScope): number | Promise<number> {
    const month = monthOf(this.#time.wallMs());
    const known = this.#known.get(scope.tenantId);
    if (known?.month === month && this.#time.monotonicMs() - known.readAtMs < this.#freshMs)
      return known.used;
    const running = this.#reading.get(scope.tenantId);
    return running?.month === month ? running.used : this.#readAnew(scope, month);
  }

  /** Call it after tokens of the tenant were added and committed here. */
  changed(scope: TenantScope): void {
    this.#known.delete(scope.tenantId);
    // A read that began before the commit may only serve callers that asked before it.
    this.#reading.delete(scope.tenantId);
  }

  #readAnew(scope: TenantScope, month: string): Promise<number> {
    const { tenantId } = scope;
    const readAtMs = this.#time.monotonicMs();
    const reading = { month, used: this.#read(scope, month) };
    this.#reading.set(tenantId, reading);
    return reading.used.then(
      (used) => {
        if (this.#reading.get(tenantId) === reading) {
          this.#reading.delete(tenantId);
          this.#known.set(tenantId, { month, used, readAtMs });
        }
        return used;
      },
      (error: unknown) => {
        if (this.#reading.get(tenantId) === reading) this.#reading.delete(tenantId);
        throw error;
      },
    );
  }
}
