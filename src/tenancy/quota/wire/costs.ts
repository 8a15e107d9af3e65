/** The messages between nodes for the costs of budgets. */
import {
  type AppliedBudget as BudgetMessage,
  AppliedBudget_Period as Period,
  AppliedBudget_Scope as Scope,
  type CostReservation as ReservationMessage,
  type CostSettlement as SettlementMessage,
  type ReserveCostRequest,
  type ReserveCostResponse,
  ReserveCostResponse_Outcome as Outcome,
} from '../../../../generated/troupe/actors/v1/quota.js';
import { requiredPart, wireEnum } from '../../../infra/runtime/index.js';
import type { AppliedBudget, BudgetScope } from '../budgets.js';
import type { CostClaim, CostReservation, CostReserved, CostSettlement } from '../cost-ledger.js';

const scopes = wireEnum<BudgetScope, Scope>('AppliedBudget.scope', {
  key: Scope.KEY,
  tenant: Scope.TENANT,
  agent: Scope.AGENT,
});
const periods = wireEnum<AppliedBudget['period'], Period>('AppliedBudget.period', {
  day: Period.DAY,
  month: Period.MONTH,
});
const outcomes = wireEnum<CostReserved['outcome'], Outcome>('ReserveCostResponse.outcome', {
  reserved: Outcome.RESERVED,
  spent: Outcome.SPENT,
  busy: Outcome.BUSY,
});

export function costToWire({ keyId, agentId, withinMs, ...cost }: CostReservation): ReservationMessage {
  return {
    ...cost,
    withinMs: Math.round(withinMs),
    keyId: keyId ?? undefined,
    agentId: agentId ?? undefined,
  };
}

export function costFromWire(message: ReservationMessage): CostReservation {
  const { attemptId, process, nanos, withinMs, keyId, agentId } = message;
  return { attemptId, process, nanos, withinMs, keyId: keyId ?? null, agentId: agentId ?? null };
}

export function costClaimToWire({ budgets, alreadyAdmitted, ...reservation }: CostClaim): ReserveCostRequest {
  return { reservation: costToWire(reservation), budgets: budgets.map(budgetToWire), alreadyAdmitted };
}

export function costClaimFromWire({ reservation, budgets, alreadyAdmitted }: ReserveCostRequest): CostClaim {
  return {
    ...costFromWire(requiredPart('ReserveCostRequest.reservation', reservation)),
    budgets: budgets.map(budgetFromWire),
    alreadyAdmitted,
  };
}

function budgetToWire({ scope, id, limit, period }: AppliedBudget): BudgetMessage {
  return { scope: scopes.toWire(scope), id, limit, period: periods.toWire(period) };
}

function budgetFromWire({ scope, id, limit, period }: BudgetMessage): AppliedBudget {
  return { scope: scopes.fromWire(scope), id, limit, period: periods.fromWire(period) };
}

export function costReservedToWire(reserved: CostReserved): ReserveCostResponse {
  return {
    outcome: outcomes.toWire(reserved.outcome),
    waitedMs: reserved.outcome === 'reserved' ? Math.floor(reserved.waitedMs) : 0,
    budget: reserved.outcome === 'spent' ? reserved.budget : undefined,
    spent: reserved.outcome === 'spent' ? reserved.spent : undefined,
  };
}

export function costReservedFromWire({
  outcome,
  waitedMs,
  budget,
  spent,
}: ReserveCostResponse): CostReserved {
  switch (outcomes.fromWire(outcome)) {
    case 'reserved':
      return { outcome: 'reserved', waitedMs };
    case 'busy':
      return { outcome: 'busy' };
    case 'spent':
      return {
        outcome: 'spent',
        budget: requiredPart('ReserveCostResponse.budget', budget),
        spent: requiredPart('ReserveCostResponse.spent', spent),
      };
  }
}

export function settlementToWire({
  attemptId,
  nanos,
  keyId,
  agentId,
  day,
}: CostSettlement): SettlementMessage {
  return { attemptId, nanos, keyId: keyId ?? undefined, agentId: agentId ?? undefined, day };
}

export function settlementFromWire({
  attemptId,
  nanos,
  keyId,
  agentId,
  day,
}: SettlementMessage): CostSettlement {
  return { attemptId, nanos, keyId: keyId ?? null, agentId: agentId ?? null, day };
}
