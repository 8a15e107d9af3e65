import { type Caller, keyOfVisitor, type TenantCaller, type TenantLimits } from '../../kernel/caller.js';
import { type Ready, whenReady } from '../../kernel/ready.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { Admission, Admitted, RateClass, RateFigures, WorkAhead } from '../../http/operations/index.js';
import type { CountedKey, LocalAdmission } from './admission.js';
import type { QuotaRequests } from './quota-requests.js';
import type { Resident, Residents } from './residents.js';
import { entryToWire, verdictFromWire } from './wire/admission.js';

/**
 * Admission with one count for all nodes: the tenant's quota actor counts the tenant and its keys; the nodes count users
 * and addresses together (`ClientWindows`). The owner's node admits a request within its tick. Other nodes send one question for
 * the request and its model work; the count of the work is taken back if the request turns out to be invalid.
 */
export class SharedAdmission implements Admission {
  readonly #counts: LocalAdmission;
  readonly #residents: Residents;
  readonly #questions: QuotaRequests;

  constructor(counts: LocalAdmission, residents: Residents, questions: QuotaRequests) {
    this.#counts = counts;
    this.#residents = residents;
    this.#questions = questions;
  }

  admitRequest(caller: Caller, rate: RateClass): Ready<Admitted> {
    if (caller.kind === 'visitor' && rate !== 'uncounted') {
      return whenReady(this.#counts.admitVisitor(caller, rate), (admitted) =>
        admitted.refusal === undefined ? this.admitRequest(keyOfVisitor(caller), rate) : admitted,
      );
    }
    const isTenants =
      rate !== 'uncounted' &&
      (caller.kind === 'key' || (caller.kind === 'tenant-user' && rate === 'model-work'));
    if (!isTenants) return this.#counts.admitRequest(caller, rate);
    const resident = this.#counting(caller);
    if (resident === undefined) {
      const full = caller.kind === 'tenant-user' ? this.#counts.fullOfRefused(caller) : undefined;
      return full ?? this.#ask(caller, rate);
    }
    if (caller.kind === 'key') resident.keyIds.add(caller.keyId);
    return this.#counts.admitRequest(caller, rate);
  }

  admitModelWork(caller: Caller, ahead?: WorkAhead): Ready<Admitted> {
    if (ahead !== undefined) return ahead.admitted;
    if (caller.kind === 'visitor') return this.admitModelWork(keyOfVisitor(caller));
    if (caller.kind !== 'key' && caller.kind !== 'tenant-user') return this.#counts.admitModelWork(caller);
    return this.admitTenantWork(caller.scope, caller.limits, keyOf(caller));
  }

  /** Model work of a tenant, also without a signed-in caller. */
  admitTenantWork(scope: TenantScope, limits: TenantLimits, key?: CountedKey): Ready<Admitted> {
    const resident = this.#residents.get(scope);
    if (resident?.mayCount !== true) return this.#askForWork(scope, limits, key);
    if (key !== undefined) resident.keyIds.add(key.keyId);
    // If a block must be taken first, the actor itself is asked: it does not leave while it waits for a block, so the block
    // is not lost.
    return this.#counts.tryTenantWork(scope, limits, key) ?? this.#askForWork(scope, limits, key);
  }

  noteRefusedWork(caller: Caller, bodyBytes: number): void {
    this.#counts.noteRefusedWork(caller, bodyBytes);
  }

  figuresOfAddress(address: string): RateFigures {
    return this.#counts.figuresOfAddress(address);
  }

  #counting(caller: TenantCaller): Resident | undefined {
    const resident = this.#residents.get(caller.scope);
    return resident?.mayCount === true ? resident : undefined;
  }

  async #ask(caller: TenantCaller, rate: RateClass): Promise<Admitted> {
    const works = rate === 'model-work';
    const entry = entryToWire({ limits: caller.limits, key: keyOf(caller), enters: true, works });
    const askedAtMs = this.#questions.nowMs();
    const answer = await this.#questions.ask(caller.scope, entry);
    const first = verdictFromWire(answer.entry);
    if (first.refusal !== undefined || !works) return first;
    const refund = (): void => this.#questions.refund(caller.scope, entry, askedAtMs);
    const admitted = verdictFromWire(answer.work);
    return {
      ...first,
      ahead: { admitted, refund: admitted.refusal === undefined ? refund : nothingCounted },
    };
  }

  #askForWork(scope: TenantScope, limits: TenantLimits, key: CountedKey | undefined): Promise<Admitted> {
    const entry = entryToWire({ limits, key, enters: false, works: true });
    return this.#questions.ask(scope, entry).then(({ work }) => verdictFromWire(work));
  }
}

function keyOf(caller: TenantCaller): CountedKey | undefined {
  return caller.kind === 'key' ? caller : undefined;
}

function nothingCounted(): void {}
