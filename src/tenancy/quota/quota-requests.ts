import type { Reference, Time } from '../../../cluster/index.js';
import type {
  AdmitAnswer,
  AdmitEntry,
  QuotaServiceDefinition,
  CostSettlement,
  Settlement,
} from '../../../generated/troupe/actors/v1/quota.js';
import { toPlatformError } from '../../infra/runtime/index.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import { PlatformError } from '../../kernel/errors.js';

export type QuotaReference = Reference<typeof QuotaServiceDefinition>;

export interface QuotaRequestParts {
  readonly time: Time;
  readonly quotaOf: (tenantId: string) => QuotaReference;
  readonly report: (attempted: string, error: unknown) => void;
}

interface Asked {
  readonly entry: AdmitEntry;
  readonly resolve: (answer: AdmitAnswer) => void;
  readonly reject: (error: unknown) => void;
}

/** The messages from this node to one tenant's actor. */
interface Desk {
  asked: Asked[];
  underWay: number;
  takenBack: { readonly entry: AdmitEntry; readonly askedAtMs: number }[];
  settled: Settlement[];
  spent: CostSettlement[];
  /** Queued to send at the end of this turn of the event loop. */
  due: boolean;
}

/** Per tenant: a second call need not wait for a first one that waits for a block. */
const underWayMax = 4;
const entriesMax = 512;
/** For all tenants; more means that owners do not answer. */
const waitingMax = 20_000;
/** A dead owner is replaced within this time. */
const deadlineMs = 9_000;

/** Sends the questions of one turn of the event loop to each tenant's actor in one call. */
export class QuotaRequests {
  readonly #parts: QuotaRequestParts;
  readonly #desks = new Map<string, Desk>();
  readonly #due: string[] = [];
  readonly #telling = new Set<Promise<unknown>>();
  #waiting = 0;
  #scheduled = false;

  constructor(parts: QuotaRequestParts) {
    this.#parts = parts;
  }

  nowMs(): number {
    return this.#parts.time.monotonicMs();
  }

  ask({ tenantId }: TenantScope, entry: AdmitEntry): Promise<AdmitAnswer> {
    if (this.#waiting >= waitingMax) {
      return Promise.reject(new PlatformError('service_unavailable', { retryAfterSeconds: 1 }));
    }
    this.#waiting += 1;
    return new Promise((resolve, reject) => {
      this.#deskOf(tenantId).asked.push({ entry, resolve, reject });
    });
  }

  refund({ tenantId }: TenantScope, entry: AdmitEntry, askedAtMs: number): void {
    this.#deskOf(tenantId).takenBack.push({ entry, askedAtMs });
  }

  settle({ tenantId }: TenantScope, settlement: Settlement): void {
    this.#deskOf(tenantId).settled.push(settlement);
  }

  settleCost({ tenantId }: TenantScope, settlement: CostSettlement): void {
    this.#deskOf(tenantId).spent.push(settlement);
  }

  /** Sends the queued messages and waits for the answers. */
  async flush(): Promise<void> {
    this.#send();
    await Promise.all(this.#telling);
  }

  #deskOf(tenantId: string): Desk {
    let desk = this.#desks.get(tenantId);
    if (desk === undefined) {
      desk = { asked: [], underWay: 0, takenBack: [], settled: [], spent: [], due: false };
      this.#desks.set(tenantId, desk);
    }
    this.#schedule(tenantId, desk);
    return desk;
  }

  #schedule(tenantId: string, desk: Desk): void {
    if (!desk.due) this.#due.push(tenantId);
    desk.due = true;
    if (this.#scheduled) return;
    this.#scheduled = true;
    this.#parts.time.soon(() => this.#send());
  }

  #send(): void {
    this.#scheduled = false;
    for (const tenantId of this.#due.splice(0)) {
      const desk = this.#desks.get(tenantId);
      if (desk === undefined) continue;
      desk.due = false;
      this.#tell(tenantId, desk);
      while (desk.asked.length > 0 && desk.underWay < underWayMax) void this.#askNow(tenantId, desk);
      if (isEmpty(desk)) this.#desks.delete(tenantId);
    }
  }

  /** Never rejects: each question resolves or rejects on its own. */
  async #askNow(tenantId: string, desk: Desk): Promise<void> {
    const batch = desk.asked.splice(0, entriesMax);
    desk.underWay += 1;
    try {
      const entries = batch.map(({ entry }) => entry);
      const { answers } = await this.#parts.quotaOf(tenantId).admit({ entries }, { deadlineMs });
      for (const [index, { resolve, reject }] of batch.entries()) {
        const answer = answers[index];
        if (answer === undefined) reject(new Error('the quota actor left a question without an answer'));
        else resolve(answer);
      }
    } catch (error) {
      const refusal = toPlatformError(error) ?? error;
      for (const { reject } of batch) reject(refusal);
    } finally {
      this.#waiting -= batch.length;
      desk.underWay -= 1;
      if (desk.asked.length > 0) this.#schedule(tenantId, desk);
      else if (isEmpty(desk)) this.#desks.delete(tenantId);
    }
  }

  /** Sent once: after a failure the count stays, and a reservation ends at its deadline. */
  #tell(tenantId: string, desk: Desk): void {
    const quota = this.#parts.quotaOf(tenantId);
    const { takenBack, settled, spent } = desk;
    if (takenBack.length > 0) {
      desk.takenBack = [];
      const nowMs = this.#parts.time.monotonicMs();
      const agesMs = takenBack.map(({ askedAtMs }) => Math.ceil(nowMs - askedAtMs));
      const entries = takenBack.map(({ entry }) => entry);
      this.#follow('taking back model work', quota.refund({ entries, agesMs }, { deadlineMs }));
    }
    if (settled.length > 0) {
      desk.settled = [];
      this.#follow('settling tokens', quota.settle({ settlements: settled }, { deadlineMs }));
    }
    if (spent.length > 0) {
      desk.spent = [];
      this.#follow('settling costs', quota.settleCosts({ settlements: spent }, { deadlineMs }));
    }
  }

  #follow(attempted: string, sending: Promise<unknown>): void {
    const heard = sending
      .catch((error: unknown) => this.#parts.report(attempted, error))
      .finally(() => this.#telling.delete(heard));
    this.#telling.add(heard);
  }
}

function isEmpty({ asked, underWay, takenBack, settled, spent }: Desk): boolean {
  const waiting = asked.length + takenBack.length + settled.length + spent.length;
  return waiting === 0 && underWay === 0;
}
