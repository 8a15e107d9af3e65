import type { RecoverySource, Reference, TimerSource } from '../../../cluster/index.js';
import type { Store } from '../../infra/storage/index.js';
import type { SessionService } from './parts.js';
import { controlToWire } from './wire/session-requests.js';
import { findExpiry, type UnfinishedTurn, upcomingExpiries } from './recovery.store.js';

type Self = (tenantId: string, sessionId: string) => Reference<SessionService>;
type Report = (attempted: string, error: unknown) => void;

/**
 * Turns are claimed, counted and given up by their session's actor. Recovery only wakes the session. `unfinished` finds
 * the turns that this process does not work on.
 */
export function turnRecovery(
  unfinished: RecoverySource<UnfinishedTurn>['unfinished'],
  session: Self,
  report: Report,
): RecoverySource<UnfinishedTurn> {
  return {
    unfinished,
    takeUp: ({ attempts }) => Promise.resolve(attempts + 1),
    async run({ tenantId, sessionId, attempts }) {
      const work = session(tenantId, sessionId).work({}, { deadlineMs: 600_000 });
      // A first takeover runs in the background. Turns that ended a process before are awaited, one at a time.
      if (attempts > 0) await work;
      else work.catch((error: unknown) => report('resuming a turn that a process left unfinished', error));
    },
    async giveUp({ tenantId, sessionId }) {
      await session(tenantId, sessionId).work({}, { deadlineMs: 600_000 });
    },
  };
}

/** Ends control modes that were set for a limited time. */
export function controlExpiries(store: Store, session: Self): TimerSource {
  return {
    upcoming: (slots, horizonMs, limit) => upcomingExpiries(store, slots, horizonMs, limit),
    async fire(id) {
      const row = await findExpiry(store, id);
      if (row === null) return undefined;
      if (row.due_in_ms > 0) return row.due_in_ms;
      await session(row.tenant_id, row.id).control(
        controlToWire({
          change: 'engaged',
          reason: 'expired',
          by: 'system',
          expiresInSeconds: undefined,
          ifEpoch: row.control_epoch,
        }),
        { deadlineMs: 10_000 },
      );
      return undefined;
    },
  };
}
