import { type EndReason, processId, type Time } from '../../../cluster/index.js';
import type { Actors } from '../../infra/runtime/index.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { LocalAdmission } from './admission.js';
import { type QuotaHost, type QuotaKind, quotaActor, type QuotaCommits } from './quota.actor.js';
import type { QuotaReference } from './quota-requests.js';
import type { QuotaRows } from './quota-rows.store.js';
import { type QuotaActivation, Resident, type Residents } from './residents.js';
import { type CostRows, costLedgerOf } from './cost-rows.js';
import { TokenLedger } from './token-ledger.js';
import { handOverToWire } from './wire/hand-over.js';

/** The functions of a node's actors that quota needs. */
export type QuotaActors = Pick<Actors, 'register' | 'references' | 'process' | 'surelyGone' | 'owns'>;

export interface QuotaHostParts {
  readonly actors: QuotaActors;
  readonly commits: QuotaCommits;
  readonly counts: LocalAdmission;
  readonly residents: Residents;
  readonly rows: QuotaRows;
  readonly costRows: CostRows;
  readonly time: Time;
  readonly report: (attempted: string, error: unknown) => void;
}

/** A tenant has one quota actor. */
const key = 'quota';
const handOverMs = 5_000;
/** The interval of checks for reservations whose deadline has passed or whose process is gone. */
const sweepEveryMs = 2_000;

/** The quota actors of this node: loads them, and hands their figures over when they leave. */
export class NodeQuotas implements QuotaHost {
  readonly kind: QuotaKind;
  readonly counts: LocalAdmission;
  readonly #parts: QuotaHostParts;
  readonly #references: (group: string, key: string) => QuotaReference;
  readonly #leaving = new Set<Promise<unknown>>();
  #timer: { cancel(): void };

  constructor(parts: QuotaHostParts) {
    this.#parts = parts;
    this.counts = parts.counts;
    this.kind = quotaActor(parts.commits, this);
    parts.actors.register(this.kind);
    this.#references = parts.actors.references(this.kind);
    this.#timer = parts.time.after(sweepEveryMs, () => this.#sweep());
  }

  quotaOf(tenantId: string): QuotaReference {
    return this.#references(tenantId, key);
  }

  enter(scope: TenantScope, activation: QuotaActivation): Resident {
    const { rows, costRows, time, residents, report } = this.#parts;
    const { tenantId } = scope;
    const tokens: TokenLedger = new TokenLedger({
      time,
      read: (month) => rows.readMonth(scope, month),
      hold: async (held, forMs) => {
        await resident.write({ what: 'hold', tenantId, tokens: held, forMs, epoch: activation.epoch });
      },
      inherited: { tokens: activation.loaded.held, forMs: activation.loaded.heldForMs },
    });
    const costs = costLedgerOf({
      scope,
      rows: costRows,
      time,
      report,
      mark: async () => {
        await resident.write({ what: 'costs', tenantId, epoch: activation.epoch });
      },
      inherited: activation.loaded.reservesCosts,
    });
    const resident: Resident = new Resident(scope, activation, { tokens, costs }, time);
    residents.enter(resident);
    return resident;
  }

  leave(resident: Resident, reason: EndReason): void {
    const { residents, counts } = this.#parts;
    const { scope, tokens, costs, keyIds, activation } = resident;
    residents.leave(resident);
    tokens.close();
    const isOrderly = reason !== 'lease_lost' && reason !== 'failed';
    const isElsewhere = !this.#parts.actors.owns(activation.slot);
    if (isOrderly && isElsewhere) this.#handOver(resident);
    if (isOrderly && tokens.isIdle && costs.isIdle) {
      this.#follow('releasing a hold', this.#parts.rows.dropHold(scope, activation.epoch));
    }
    counts.forgetTenant(scope, keyIds, isOrderly ? 'given back' : 'spent');
  }

  /** Waits until returned work and handed-over figures have arrived. */
  async flush(): Promise<void> {
    await Promise.all(this.#leaving);
  }

  async stop(): Promise<void> {
    this.#timer.cancel();
    await this.flush();
  }

  /** Sends the figures to the next owner, which the view already names. If it fails, windows start empty and a bound replaces the calls. */
  #handOver({ scope, activation, keyIds, tokens, costs: ledger }: Resident): void {
    const windows = this.counts.windowsOf(scope, keyIds);
    const reservations = tokens.leftovers();
    const costs = ledger.leftovers();
    if (windows.length === 0 && reservations.length === 0 && costs.length === 0) return;
    const { knowsAll } = tokens;
    const knowsAllCosts = ledger.knowsAll;
    const sending = this.quotaOf(scope.tenantId).handOver(
      handOverToWire({ epoch: activation.epoch, windows, reservations, knowsAll, costs, knowsAllCosts }),
      { deadlineMs: handOverMs },
    );
    this.#follow('handing over a quota', sending);
  }

  #follow(attempted: string, done: Promise<unknown>): void {
    const { report } = this.#parts;
    const over = done
      .catch((error: unknown) => report(attempted, error))
      .finally(() => this.#leaving.delete(over));
    this.#leaving.add(over);
  }

  /** Replaces the bound that a lost owner left by the rows of the attempts that are really under way. */
  #recover({ scope, tokens }: Resident): void {
    const read = this.#parts.rows.openAttempts(scope).then((open) => tokens.takeOver(open, true));
    this.#follow('reading the open attempts of a lost owner', read);
  }

  #sweep(): void {
    const { residents, actors, time } = this.#parts;
    const isGone = (process: string): boolean => isGoneFrom(actors, process);
    for (const resident of residents.all()) {
      resident.tokens.sweep(isGone);
      resident.costs.sweep(isGone);
      if (resident.tokens.mayRecover) this.#recover(resident);
    }
    this.#timer = time.after(sweepEveryMs, () => this.#sweep());
  }
}

function isGoneFrom(actors: QuotaActors, process: string): boolean {
  return process !== actors.process && actors.surelyGone(processId(process));
}
