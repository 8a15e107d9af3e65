/** The messages between nodes for the tokens of a month. */
import {
  type ReserveResponse,
  ReserveResponse_Outcome as Outcome,
  type ReserveRequest,
} from '../../../../generated/troupe/actors/v1/quota.js';
import { requiredPart, wireEnum } from '../../../infra/runtime/index.js';
import type { Reserved, TokenClaim } from '../token-ledger.js';

const outcomes = wireEnum<Reserved['outcome'], Outcome>('ReserveResponse.outcome', {
  reserved: Outcome.RESERVED,
  'used up': Outcome.USED_UP,
  busy: Outcome.BUSY,
});

export function claimToWire(claim: TokenClaim): ReserveRequest {
  const { attemptId, process, tokens, withinMs, monthlyLimit, alreadyAdmitted } = claim;
  return { attemptId, process, tokens, withinMs, monthlyLimit, alreadyAdmitted };
}

export function claimFromWire(request: ReserveRequest): TokenClaim {
  const { attemptId, process, tokens, withinMs, monthlyLimit, alreadyAdmitted } = request;
  return { attemptId, process, tokens, withinMs, monthlyLimit, alreadyAdmitted };
}

export function reservedToWire(reserved: Reserved): ReserveResponse {
  return {
    outcome: outcomes.toWire(reserved.outcome),
    used: reserved.outcome === 'used up' ? reserved.used : undefined,
  };
}

export function reservedFromWire(response: ReserveResponse): Reserved {
  const outcome = outcomes.fromWire(response.outcome);
  if (outcome !== 'used up') return { outcome };
  return { outcome, used: requiredPart('ReserveResponse.used', response.used) };
}
