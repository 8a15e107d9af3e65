import type { HandOverRequest } from '../../../../generated/troupe/actors/v1/quota.js';
import type { WindowHistory } from '../admission.js';
import type { CostReservation } from '../cost-ledger.js';
import type { Reservation } from '../token-ledger.js';
import { costFromWire, costToWire } from './costs.js';

/** The figures of an activation that ended, for the next owner. */
export interface HandedOver {
  /** Epoch of the activation that ended. */
  readonly epoch: number;
  readonly windows: readonly WindowHistory[];
  readonly reservations: readonly Reservation[];
  /** There are no other reservations. */
  readonly knowsAll: boolean;
  readonly costs: readonly CostReservation[];
  readonly knowsAllCosts: boolean;
}

/** Times are rounded to milliseconds. */
export function handOverToWire(handed: HandedOver): HandOverRequest {
  const { epoch, windows, reservations, knowsAll, costs, knowsAllCosts } = handed;
  return {
    epoch,
    windows: windows.map(({ keyId, agesMs, counts }) => ({
      keyId: keyId === '' ? undefined : keyId,
      agesMs: agesMs.map((ageMs) => Math.max(0, Math.round(ageMs))),
      counts: [...counts],
    })),
    reservations: reservations.map(({ attemptId, process, tokens, withinMs }) => ({
      attemptId,
      process,
      tokens,
      withinMs: Math.round(withinMs),
    })),
    knowsAll,
    costs: costs.map(costToWire),
    knowsAllCosts,
  };
}

export function handOverFromWire(handed: HandOverRequest): HandedOver {
  const { epoch, windows, reservations, knowsAll, costs, knowsAllCosts } = handed;
  return {
    epoch,
    windows: windows.map(({ keyId, agesMs, counts }) => ({ keyId: keyId ?? '', agesMs, counts })),
    reservations: reservations.map(({ attemptId, process, tokens, withinMs }) => ({
      attemptId,
      process,
      tokens,
      withinMs,
    })),
    knowsAll,
    costs: costs.map(costFromWire),
    knowsAllCosts: knowsAllCosts ?? false,
  };
}
