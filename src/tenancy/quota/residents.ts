import { ClusterError, type DurableActivation, type Time } from '../../../cluster/index.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { Countable, GrantStore } from './grants.js';
import type { QuotaLoaded, QuotaWrite, QuotaWritten } from './quota-actor.store.js';
import type { GrantRows } from './quota-rows.store.js';
import type { CostLedger } from './cost-ledger.js';
import type { TokenLedger } from './token-ledger.js';

export type QuotaActivation = DurableActivation<QuotaLoaded, QuotaWrite, QuotaWritten>;

/** Requests of this node bypass the mailbox for this time; then one goes through it, and the actor counts as used. */
export const directForMs = 30_000;

/** A tenant whose quota actor is in this node's memory: this process counts it for all nodes. */
export class Resident {
  readonly scope: TenantScope;
  readonly activation: QuotaActivation;
  readonly tokens: TokenLedger;
  readonly costs: CostLedger;
  /** Keys that were counted; their windows move with the actor. */
  readonly keyIds = new Set<string>();
  readonly #time: Time;
  #calledAtMs: number;
  ended = false;

  constructor(
    scope: TenantScope,
    activation: QuotaActivation,
    { tokens, costs }: { readonly tokens: TokenLedger; readonly costs: CostLedger },
    time: Time,
  ) {
    this.scope = scope;
    this.activation = activation;
    this.tokens = tokens;
    this.costs = costs;
    this.#time = time;
    this.#calledAtMs = time.monotonicMs();
  }

  /** Called when a call came through the mailbox. */
  called(): void {
    this.#calledAtMs = this.#time.monotonicMs();
  }

  /** Whether a request of this node may be counted without a message to the actor; within one tick both are equal. */
  get mayCount(): boolean {
    return (
      !this.ended && this.#time.monotonicMs() - this.#calledAtMs < directForMs && this.activation.mayAct()
    );
  }

  /** A write with an unknown outcome ends the activation: the recorded block stays spent. */
  async write(write: QuotaWrite): Promise<QuotaWritten> {
    const committed = await this.activation.write(write);
    if (committed.outcome === 'committed') return committed.result;
    this.activation.end('failed');
    throw new ClusterError('outcome_unknown', 'it is unknown whether a block was recorded');
  }
}

export class Residents {
  readonly #residents = new Map<string, Resident>();

  get(scope: TenantScope): Resident | undefined {
    return this.#residents.get(scope.tenantId);
  }

  enter(resident: Resident): void {
    this.#residents.set(resident.scope.tenantId, resident);
  }

  leave(resident: Resident): void {
    resident.ended = true;
    if (this.get(resident.scope) === resident) this.#residents.delete(resident.scope.tenantId);
  }

  all(): Iterable<Resident> {
    return this.#residents.values();
  }
}

/** Records blocks under the fence of the tenant's actor; the rest of a block is returned without the fence. */
export class FencedGrants implements GrantStore {
  readonly #residents: Residents;
  readonly #rows: GrantRows;
  readonly #kind: 'day' | 'key';

  constructor(residents: Residents, rows: GrantRows, kind: 'day' | 'key') {
    this.#residents = residents;
    this.#rows = rows;
    this.#kind = kind;
  }

  async take({ scope, subject, limit }: Countable, wanted: number): Promise<QuotaWritten> {
    const resident = this.#residents.get(scope);
    if (resident === undefined) throw new ClusterError('not_serving', 'another node counts the tenant');
    const { tenantId } = scope;
    const taken = await resident.write({
      what: 'block',
      tenantId,
      kind: this.#kind,
      subject,
      wanted,
      limit,
    });
    if (this.#kind === 'day' && taken.block > 0 && taken.block === taken.granted) {
      await this.#rows.clearDaysBefore(scope, subject);
    }
    return taken;
  }

  /** Only the activation that took the block can grant it, and that one has ended or released it. */
  giveBack(scope: TenantScope, subject: string, rest: number): Promise<void> {
    return this.#rows.giveBack(scope, subject, rest);
  }
}
