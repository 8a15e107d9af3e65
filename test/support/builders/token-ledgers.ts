// A ledger of a month's tokens, with the test's clock and store.
import { type Reserved, type TokenClaim, TokenLedger } from '../../../src/tenancy/quota/token-ledger.js';
import { ManualTime } from '../clocks/manual-time.js';

export const minuteMs = 60_000;

/** A ledger over a store that the test changes. */
export function ledgerOfTokens(
  options: { at?: string; used?: number; inherited?: { tokens: number; forMs: number } } = {},
) {
  const time = new ManualTime(options.at ?? '2026-11-21T10:00:00Z');
  const state = { used: options.used ?? 0, reads: 0, held: 0, heldUntilMs: 0, holds: 0, storeIsAway: false };
  const book = new TokenLedger({
    time,
    read: async () => {
      state.reads += 1;
      if (state.storeIsAway) throw new Error('the store is away');
      return state.used;
    },
    hold: async (tokens, forMs) => {
      if (state.storeIsAway) throw new Error('the store is away');
      state.holds += 1;
      state.held = tokens;
      state.heldUntilMs = time.monotonicMs() + forMs;
    },
    inherited: options.inherited ?? { tokens: 0, forMs: 0 },
  });
  return { time, state, book };
}

export function wish(attemptId: string, changes: Partial<TokenClaim> = {}): TokenClaim {
  return {
    attemptId,
    process: 'node-1',
    tokens: 40,
    withinMs: minuteMs,
    monthlyLimit: 100,
    alreadyAdmitted: false,
    ...changes,
  };
}

/** The decisions once every earlier request was answered. */
export async function decided(
  reserved: Reserved | Promise<Reserved>,
): Promise<Reserved['outcome'] | 'waits'> {
  const later = new Promise<'waits'>((resolve) => setImmediate(() => setImmediate(() => resolve('waits'))));
  return Promise.race([Promise.resolve(reserved).then(({ outcome }) => outcome), later]);
}
