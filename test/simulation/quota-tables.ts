// The rows of quotas and of model call attempts in a simulated store.
import type { Fence } from '../../cluster/fencing/fence.js';
import type { MemoryTables } from '../../cluster/simulation/fence-store.js';
import type { Transit } from '../../cluster/simulation/member-store.js';
import type { TenantScope } from '../../src/kernel/tenant-scope.js';
import type {
  QuotaLoad,
  QuotaLoaded,
  QuotaWrite,
  QuotaWritten,
} from '../../src/tenancy/quota/quota-actor.store.js';
import type { QuotaRows } from '../../src/tenancy/quota/quota-rows.store.js';

export interface AttemptRow {
  readonly attemptId: string;
  readonly tenantId: string;
  readonly process: string;
  readonly estimate: number;
  readonly deadlineMs: number;
  /** Undefined while the attempt is open. */
  used: number | undefined;
}

/** Planted bugs of the store. */
export interface TablePlants {
  readonly closesTwice: boolean;
}

interface Hold {
  readonly held: number;
  readonly untilMs: number;
  readonly epoch: number;
}

export class QuotaTables implements MemoryTables<QuotaLoad, QuotaLoaded, QuotaWrite, QuotaWritten> {
  readonly granted = new Map<string, number>();
  readonly months = new Map<string, number>();
  readonly attempts = new Map<string, AttemptRow>();
  readonly #holds = new Map<string, Hold>();
  readonly #now: () => number;
  readonly #plants: TablePlants;

  constructor(now: () => number, plants: TablePlants) {
    this.#now = now;
    this.#plants = plants;
  }

  copy(): () => void {
    const attempts = [...this.attempts].map(([id, row]) => [id, { ...row }] as const);
    const restores = [
      restorer(this.granted, [...this.granted]),
      restorer(this.months, [...this.months]),
      restorer(this.#holds, [...this.#holds]),
      restorer(this.attempts, attempts),
    ];
    return () => {
      for (const restore of restores) restore();
    };
  }

  load({ tenantId }: QuotaLoad): QuotaLoaded {
    const hold = this.#holds.get(tenantId);
    if (hold === undefined || hold.untilMs <= this.#now())
      return { held: 0, heldForMs: 0, reservesCosts: false };
    return { held: hold.held, heldForMs: hold.untilMs - this.#now(), reservesCosts: false };
  }

  apply(write: QuotaWrite, _fence: Fence): QuotaWritten {
    const { tenantId } = write;
    if (write.what === 'hold') {
      const { tokens: held, forMs, epoch } = write;
      this.#holds.set(tenantId, { held, epoch, untilMs: this.#now() + forMs });
      return { block: 0, granted: 0 };
    }
    // The simulated load has no budgets.
    if (write.what === 'costs') return { block: 0, granted: 0 };
    const written = this.resultOf(write);
    this.granted.set(countName(tenantId, write.kind, write.subject), written.granted);
    return written;
  }

  /** The result that the write would return now. */
  resultOf(write: QuotaWrite): QuotaWritten {
    if (write.what !== 'block') return { block: 0, granted: 0 };
    const before = this.granted.get(countName(write.tenantId, write.kind, write.subject)) ?? 0;
    const block = Math.max(0, Math.min(write.wanted, write.limit - before));
    return { block, granted: before + block };
  }

  /** Reads and writes without a fence, as one process performs them. */
  client(transit: Transit): QuotaRows {
    return {
      grants: (kind) => ({
        take: () => Promise.reject(new Error('blocks must be taken under the fence')),
        clearDaysBefore: () => Promise.resolve(),
        giveBack: ({ tenantId }, subject, rest) =>
          transit(() => this.#giveBack(countName(tenantId, kind, subject), rest)),
      }),
      readMonth: ({ tenantId }) => transit(() => this.months.get(tenantId) ?? 0),
      dropHold: ({ tenantId }, epoch) =>
        transit(() => {
          if ((this.#holds.get(tenantId)?.epoch ?? Infinity) <= epoch) this.#holds.delete(tenantId);
        }),
      openAttempts: ({ tenantId }) =>
        transit(() =>
          [...this.attempts.values()]
            .filter((row) => row.tenantId === tenantId && row.used === undefined)
            .map(({ attemptId, process, estimate, deadlineMs }) => ({
              attemptId,
              process,
              tokens: estimate,
              withinMs: Math.max(0, deadlineMs - this.#now()),
            })),
        ),
    };
  }

  open(row: Omit<AttemptRow, 'used'>): void {
    if (!this.attempts.has(row.attemptId)) this.attempts.set(row.attemptId, { ...row, used: undefined });
  }

  close(attemptId: string, used: number): void {
    const row = this.attempts.get(attemptId);
    // Lost by a lagging replica, or already closed.
    if (row === undefined || (row.used !== undefined && !this.#plants.closesTwice)) return;
    row.used = used;
    this.months.set(row.tenantId, (this.months.get(row.tenantId) ?? 0) + used);
  }

  closeOrphans(isGone: (process: string) => boolean): void {
    for (const row of this.attempts.values()) {
      if (row.used === undefined && (row.deadlineMs < this.#now() || isGone(row.process))) {
        this.close(row.attemptId, row.estimate);
      }
    }
  }

  openRows(): number {
    return [...this.attempts.values()].filter(({ used }) => used === undefined).length;
  }

  sumOf({ tenantId }: TenantScope): number {
    return [...this.attempts.values()]
      .filter((row) => row.tenantId === tenantId)
      .reduce((sum, { used = 0 }) => sum + used, 0);
  }

  #giveBack(name: string, rest: number): void {
    this.granted.set(name, Math.max(0, (this.granted.get(name) ?? 0) - rest));
  }
}

function restorer<Key, Value>(map: Map<Key, Value>, entries: readonly (readonly [Key, Value])[]): () => void {
  return () => {
    map.clear();
    for (const [key, value] of entries) map.set(key, value);
  };
}

export function countName(tenantId: string, kind: string, subject: string): string {
  return `${tenantId}/${kind}/${subject}`;
}
