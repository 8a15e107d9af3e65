// What the operator sees of tenants, users and usage: one composition for the endpoints and the command line.
import {
  type AccountOverview,
  findOverview,
  listAccounts,
  listOverviews,
  namesOfTenants,
  type TenantFilter,
  type TenantOverview,
} from '../../tenancy/identity/index.js';
import { lastUseOfTenants } from '../../tenancy/keys/index.js';
import { type InstallationGroup, installationTotals, totalsOfTenants } from '../../models/usage/index.js';
import { partsOf } from '../../models/telemetry/index.js';
import type { Position } from '../../http/operations/index.js';
import { PlatformError } from '../../kernel/errors.js';
import type { DirectoryTransaction, Store } from '../../infra/storage/index.js';

interface PageAsked {
  readonly after: Position | undefined;
  readonly rows: number;
}

export interface TenantReport extends TenantOverview {
  readonly month: { readonly tokens: number; readonly cost: number; readonly calls: number };
  readonly last_seen: Date | null;
}

export class OperatorReports {
  readonly #store: Store;
  readonly #nowMs: () => number;

  constructor(store: Store, nowMs: () => number) {
    this.#store = store;
    this.#nowMs = nowMs;
  }

  tenants(filter: TenantFilter, page: PageAsked): Promise<readonly TenantReport[]> {
    return this.#store.directory(async (tx) => this.#reportsOn(tx, await listOverviews(tx, filter, page)));
  }

  async tenant(id: string): Promise<TenantReport> {
    const [found] = await this.#store.directory(async (tx) => {
      const overview = await findOverview(tx, id);
      return overview === null ? [] : this.#reportsOn(tx, [overview]);
    });
    if (found === undefined) throw new PlatformError('tenant_not_found');
    return found;
  }

  users(search: string | undefined, page: PageAsked): Promise<readonly AccountOverview[]> {
    return this.#store.directory((tx) => listAccounts(tx, search, page));
  }

  async usage(range: { readonly from: Date; readonly to: Date }, group: InstallationGroup) {
    const { totals, names } = await this.#store.directory(async (tx) => {
      const rows = await installationTotals(tx, { ...range, ...partsOf(range) }, group);
      const tenants = group === 'tenant' ? rows.map(({ key }) => key) : [];
      return { totals: rows, names: await namesOfTenants(tx, tenants) };
    });
    return totals.map((row) => ({ ...row, label: names.get(row.key) ?? row.key }));
  }

  async #reportsOn(
    tx: DirectoryTransaction,
    overviews: readonly TenantOverview[],
  ): Promise<readonly TenantReport[]> {
    const ids = overviews.map(({ id }) => id);
    const totals = await totalsOfTenants(tx, ids, this.#monthBegan());
    const uses = await lastUseOfTenants(tx, ids);
    return overviews.map((overview) => {
      const month = totals.get(overview.id);
      return {
        ...overview,
        month: {
          tokens: month === undefined ? 0 : month.input_tokens + month.output_tokens,
          cost: month?.cost ?? 0,
          calls: month?.calls ?? 0,
        },
        last_seen: later(uses.get(overview.id), month?.last_call_at ?? undefined),
      };
    });
  }

  #monthBegan(): Date {
    const now = new Date(this.#nowMs());
    return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1));
  }
}

function later(one: Date | undefined, other: Date | undefined): Date | null {
  if (one === undefined || other === undefined) return one ?? other ?? null;
  return one > other ? one : other;
}
