import type { HandOverRequest } from '../../../../generated/troupe/actors/v1/quota.js';
import type { WindowHistory } from '../admission.js';
import type { Reservation } from '../token-ledger.js';

/** The figures of an activation that ended, for the next owner. */
export interface HandedOver {
  /** Epoch of the activation that ended. */
  readonly epoch: number;
  readonly windows: readonly WindowHistory[];
  readonly reservations: readonly Reservation[];
  /** There are no other reservations. */
  readonly knowsAll: boolean;
}

/** Times are rounded to milliseconds. */
export function handOverToWire({ epoch, windows, reservations, knowsAll }: HandedOver): HandOverRequest {
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
  };
}

export function handOverFromWire({ epoch, windows, reservations, knowsAll }: HandOverRequest): HandedOver {
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
  };
}
