// Messages about quotas between nodes: each value survives its message and its bytes.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import fc from 'fast-check';
import {
  AdmitEntry,
  HandOverRequest,
  CostSettlement,
  ReserveCostRequest,
  ReserveCostResponse,
  ReserveRequest,
  ReserveResponse,
  Verdict,
} from '../../../../generated/troupe/actors/v1/quota.js';
import type { Admitted } from '../../../../src/http/operations/index.js';
import { tenantScope } from '../../../../src/kernel/tenant-scope.js';
import { quotaExceeded, rateLimited } from '../../../../src/tenancy/quota/refusals.js';
import type { Reserved, TokenClaim } from '../../../../src/tenancy/quota/token-ledger.js';
import {
  type AdmissionQuestion,
  entryFromWire,
  entryToWire,
  unavailable,
  verdictFromWire,
  verdictToWire,
} from '../../../../src/tenancy/quota/wire/admission.js';
import {
  type HandedOver,
  handOverFromWire,
  handOverToWire,
} from '../../../../src/tenancy/quota/wire/hand-over.js';
import {
  claimFromWire,
  claimToWire,
  reservedFromWire,
  reservedToWire,
} from '../../../../src/tenancy/quota/wire/tokens.js';
import {
  amount,
  orNull,
  perhaps,
  smallAmount,
  survives,
  text,
  withNumber,
} from '../../../support/builders/arbitrary-values.js';
import type { CostClaim, CostReserved } from '../../../../src/tenancy/quota/cost-ledger.js';
import {
  costClaimFromWire,
  costClaimToWire,
  costReservedFromWire,
  costReservedToWire,
  settlementFromWire,
  settlementToWire,
} from '../../../../src/tenancy/quota/wire/costs.js';

const scope = tenantScope(randomUUID());

test('a question of admission', (t) => {
  const question: fc.Arbitrary<AdmissionQuestion> = fc.record({
    limits: fc.record({ requestsPerMinute: smallAmount, requestsPerDay: amount }),
    key: perhaps(
      fc.record({
        scope: fc.constant(scope),
        keyId: text,
        requestsPerMinute: smallAmount,
        quotaLimit: orNull(amount),
      }),
    ),
    enters: fc.boolean(),
    works: fc.boolean(),
  });
  survives(t, question, AdmitEntry, entryToWire, (entry) => entryFromWire(scope, entry));
});

test('a verdict', (t) => {
  const wallMs = fc.integer({ min: 0, max: 4_000_000_000_000 });
  const figures = fc.record({ limit: amount, remaining: amount, reset: amount });
  const admitted: fc.Arbitrary<Admitted> = fc.oneof(
    figures.map((shown) => ({ figures: shown })),
    fc
      .tuple(amount, wallMs, fc.nat())
      .map(([limit, nowMs, waitMs]) => rateLimited(limit, nowMs + waitMs, { wallMs: nowMs, monotonicMs: 0 })),
    fc
      .tuple(amount, amount, wallMs)
      .map(([limit, used, nowMs]) => quotaExceeded({ limit, used }, null, { wallMs: nowMs, monotonicMs: 0 })),
  );
  const shown = ({ figures: of, refusal }: Admitted): unknown => [
    of,
    refusal?.code,
    refusal?.details,
    refusal?.retryAfterSeconds,
  ];
  fc.assert(
    fc.property(admitted, (value) => {
      const bytes = Verdict.encode(verdictToWire(value)).finish();
      t.deepEqual(shown(verdictFromWire(Verdict.decode(bytes))), shown(value));
    }),
  );
  t.throws(() => verdictFromWire(unavailable), { code: 'service_unavailable', name: 'PlatformError' });
});

const reservation = fc.record({
  attemptId: text,
  process: text,
  tokens: amount,
  withinMs: smallAmount,
});

test('a reservation of tokens, and its answer', (t) => {
  const claim: fc.Arbitrary<TokenClaim> = fc
    .tuple(reservation, amount, fc.boolean())
    .map(([of, monthlyLimit, alreadyAdmitted]) => ({ ...of, monthlyLimit, alreadyAdmitted }));
  survives(t, claim, ReserveRequest, claimToWire, claimFromWire);
  const reserved: fc.Arbitrary<Reserved> = fc.oneof(
    fc.constant({ outcome: 'reserved' as const }),
    fc.constant({ outcome: 'busy' as const }),
    amount.map((used) => ({ outcome: 'used up' as const, used })),
  );
  survives(t, reserved, ReserveResponse, reservedToWire, reservedFromWire);
});

const id = fc.option(text, { nil: null });
const costReservation = fc.record({
  attemptId: text,
  process: text,
  nanos: amount,
  withinMs: smallAmount,
  keyId: id,
  agentId: id,
});

test('a reservation of costs, its answer and its settlement', (t) => {
  const budget = fc.record({
    scope: fc.constantFrom('key' as const, 'tenant' as const, 'agent' as const),
    id: text,
    limit: amount,
    period: fc.constantFrom('day' as const, 'month' as const),
  });
  const claim: fc.Arbitrary<CostClaim> = fc
    .tuple(costReservation, fc.array(budget), fc.boolean())
    .map(([of, budgets, alreadyAdmitted]) => ({ ...of, budgets, alreadyAdmitted }));
  survives(t, claim, ReserveCostRequest, costClaimToWire, costClaimFromWire);
  const reserved: fc.Arbitrary<CostReserved> = fc.oneof(
    smallAmount.map((waitedMs) => ({ outcome: 'reserved' as const, waitedMs })),
    fc.constant({ outcome: 'busy' as const }),
    fc
      .tuple(smallAmount, amount)
      .map(([place, spent]) => ({ outcome: 'spent' as const, budget: place, spent })),
  );
  survives(t, reserved, ReserveCostResponse, costReservedToWire, costReservedFromWire);
  const settlement = fc.record({
    attemptId: text,
    nanos: amount,
    keyId: id,
    agentId: id,
    day: perhaps(text),
  });
  survives(t, settlement, CostSettlement, settlementToWire, settlementFromWire);
});

test('the figures that one owner hands to the next', (t) => {
  const window = fc.record({ keyId: text, agesMs: fc.array(smallAmount), counts: fc.array(smallAmount) });
  const handedOver: fc.Arbitrary<HandedOver> = fc.record({
    epoch: amount,
    windows: fc.array(window),
    reservations: fc.array(reservation),
    knowsAll: fc.boolean(),
    costs: fc.array(costReservation),
    knowsAllCosts: fc.boolean(),
  });
  survives(t, handedOver, HandOverRequest, handOverToWire, handOverFromWire);
});

test('an outcome that is not specified, and one of a later version, is refused by the name of its field', (t) => {
  const reserved = reservedToWire({ outcome: 'reserved' });
  for (const outcome of [0, 1_000]) {
    const refused = { name: 'UnreadableMessage', code: 'service_unavailable' };
    t.throws(() => verdictFromWire(withNumber(unavailable, 'outcome', outcome)), {
      ...refused,
      message: /Verdict\.outcome/,
    });
    t.throws(() => reservedFromWire(withNumber(reserved, 'outcome', outcome)), {
      ...refused,
      message: /ReserveResponse\.outcome/,
    });
  }
  t.throws(() => verdictFromWire(undefined), { name: 'UnreadableMessage' });
});
