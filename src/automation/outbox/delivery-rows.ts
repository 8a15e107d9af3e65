import type { Store } from '../../infra/storage/index.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import {
  beginAttempt,
  type ClaimedDelivery,
  claimOne,
  dueSessions,
  giveBackAttempt,
  isUnderWay,
} from './deliveries.store.js';

/** What the sender asks of the rows of deliveries beside its batches: each method is one transaction. */
export interface DeliveryRows {
  /** Sessions with overdue deliveries that no process holds. */
  dueSessions(lateMs: number, rowsMax: number): ReturnType<typeof dueSessions>;
  /** Claims this delivery and records its attempt. Null if another process has started the chunk or is past it. */
  begin(
    scope: TenantScope,
    delivery: Pick<ClaimedDelivery, 'id' | 'chunk'>,
    holdMs: number,
  ): Promise<ClaimedDelivery | null>;
  /** Takes back an attempt that was not made, and holds the delivery so much longer. */
  giveBack(scope: TenantScope, delivery: ClaimedDelivery, heldMs: number): Promise<void>;
  /** Whether an answer of the session is being sent. */
  isUnderWay(scope: TenantScope, sessionId: string, attemptMs: number): Promise<boolean>;
}

export function deliveryRows(store: Store): DeliveryRows {
  return {
    dueSessions: (lateMs, rowsMax) => store.directory((tx) => dueSessions(tx, lateMs, rowsMax)),
    begin: (scope, one, holdMs) =>
      store.inTenant(scope, async (tx) => {
        const delivery = await claimOne(scope, tx, one, holdMs);
        if (delivery !== null) await beginAttempt(scope, tx, delivery);
        return delivery;
      }),
    giveBack: (scope, delivery, heldMs) =>
      store.inTenant(scope, (tx) => giveBackAttempt(scope, tx, delivery, heldMs)),
    isUnderWay: (scope, sessionId, attemptMs) =>
      store.inTenant(scope, (tx) => isUnderWay(scope, tx, sessionId, attemptMs)),
  };
}
