import { isReady } from '../../kernel/ready.js';
import {
  type Call,
  type DurableActivation,
  deactivated,
  durableActor,
  type EndReason,
  type GroupCommit,
} from '../../../cluster/index.js';
import {
  type AdmitAnswer,
  type AdmitEntry,
  type AdmitRequest,
  type HandOverRequest,
  QuotaServiceDefinition,
  type ReserveCostRequest,
  type ReserveCostResponse,
  type ReserveRequest,
  type ReserveResponse,
  type SettleCostsRequest,
  type SettleRequest,
  type RefundRequest,
} from '../../../generated/troupe/actors/v1/quota.js';
import type { Ready } from '../../kernel/ready.js';
import { type TenantScope, tenantScope } from '../../kernel/tenant-scope.js';
import type { LocalAdmission } from './admission.js';
import type { QuotaLoad, QuotaLoaded, QuotaWrite, QuotaWritten } from './quota-actor.store.js';
import { directForMs, type Resident } from './residents.js';
import { entryFromWire, unavailable, verdictToWire } from './wire/admission.js';
import { handOverFromWire } from './wire/hand-over.js';
import { costClaimFromWire, costReservedToWire, settlementFromWire } from './wire/costs.js';
import { claimFromWire, reservedToWire } from './wire/tokens.js';

/**
 * The limits of one tenant, counted in one place for all nodes. The figures are in the memory of the actor's node
 * (`LocalAdmission`, `TokenLedger`). The actor answers the questions of other nodes, owns the right to write blocks and
 * holds in advance (its fence), and hands the figures over when it moves.
 */
export type QuotaCommits = GroupCommit<QuotaLoad, QuotaLoaded, QuotaWrite, QuotaWritten>;
export type QuotaKind = ReturnType<typeof quotaActor>;

export interface QuotaHost {
  readonly counts: LocalAdmission;
  /** Starts counting the tenant on this node. */
  enter(scope: TenantScope, activation: DurableActivation<QuotaLoaded, QuotaWrite, QuotaWritten>): Resident;
  /** The actor has left memory: this node no longer counts its tenant. */
  leave(resident: Resident, reason: EndReason): void;
}

export function quotaActor(commits: QuotaCommits, host: QuotaHost) {
  return durableActor({
    service: QuotaServiceDefinition,
    commits,
    // Not idle while requests of its node bypass the mailbox, nor before a lost owner's bound is replaced.
    idleMs: 4 * directForMs,
    // A message that is repeated after a lost link counts twice, which ends a count early but never late.
    methods: {
      admit: { idempotent: true },
      reserve: { idempotent: true },
      settle: { idempotent: true },
      reserveCost: { idempotent: true },
      settleCosts: { idempotent: true },
      refund: {},
      handOver: {},
    },
    load: ({ group }) => ({ tenantId: group }),
    // The group is the tenant of the caller, whose credential the calling node has verified.
    create: (activation) =>
      new QuotaActor(host, host.enter(tenantScope(activation.address.group), activation)),
  });
}

class QuotaActor {
  readonly #host: QuotaHost;
  readonly #resident: Resident;

  constructor(host: QuotaHost, resident: Resident) {
    this.#host = host;
    this.#resident = resident;
  }

  admit({ entries }: AdmitRequest, call: Call) {
    this.#resident.called();
    const answers = entries.map((entry) => this.#decide(entry));
    if (areThere(answers)) return { answers };
    // While a block is on its way, other calls may find room without it.
    call.letNextIn();
    return Promise.all(answers.map((answer) => Promise.resolve(answer))).then((settled) => ({
      answers: settled,
    }));
  }

  refund({ entries, agesMs }: RefundRequest) {
    const { scope } = this.#resident;
    for (const [index, entry] of entries.entries()) {
      const { limits, key } = entryFromWire(scope, entry);
      this.#host.counts.takeBackWork(scope, limits, key, agesMs[index] ?? 0);
    }
    return {};
  }

  reserve(request: ReserveRequest, call: Call): ReserveResponse | Promise<ReserveResponse> {
    this.#resident.called();
    const reserved = this.#resident.tokens.reserve(claimFromWire(request));
    if (isReady(reserved)) return reservedToWire(reserved);
    call.letNextIn();
    return reserved.then(reservedToWire);
  }

  settle({ settlements }: SettleRequest) {
    for (const { attemptId, reserved, tokens } of settlements) {
      this.#resident.tokens.settle(attemptId, reserved, tokens);
    }
    return {};
  }

  reserveCost(request: ReserveCostRequest, call: Call): Promise<ReserveCostResponse> {
    this.#resident.called();
    call.letNextIn();
    return this.#resident.costs.reserve(costClaimFromWire(request)).then(costReservedToWire);
  }

  settleCosts({ settlements }: SettleCostsRequest) {
    for (const one of settlements) this.#resident.costs.settle(settlementFromWire(one));
    return {};
  }

  handOver(request: HandOverRequest) {
    const { windows, reservations, knowsAll, costs, knowsAllCosts } = handOverFromWire(request);
    this.#host.counts.mergeWindows(this.#resident.scope, windows);
    this.#resident.tokens.takeOver(reservations, knowsAll);
    this.#resident.costs.takeOver(costs, knowsAllCosts);
    return {};
  }

  [deactivated](reason: EndReason): void {
    this.#host.leave(this.#resident, reason);
  }

  #decide(entry: AdmitEntry): Ready<AdmitAnswer> {
    const { scope, keyIds } = this.#resident;
    const { counts } = this.#host;
    const { key, limits, enters, works } = entryFromWire(scope, entry);
    if (key !== undefined) keyIds.add(key.keyId);
    const first = !enters
      ? undefined
      : key === undefined
        ? counts.lookAtTenant(scope, limits)
        : counts.admitKey(key);
    const shown = first === undefined ? undefined : verdictToWire(first);
    if (first?.refusal !== undefined || !works) return { entry: shown, work: undefined };
    const work = counts.admitTenantWork(scope, limits, key);
    if (isReady(work)) return { entry: shown, work: verdictToWire(work) };
    return work.then(
      (admitted) => ({ entry: shown, work: verdictToWire(admitted) }),
      // If the count cannot be kept, nothing is admitted; the asking node reports it.
      () => ({ entry: shown, work: unavailable }),
    );
  }
}

function areThere(answers: Ready<AdmitAnswer>[]): answers is AdmitAnswer[] {
  return answers.every(isReady);
}
