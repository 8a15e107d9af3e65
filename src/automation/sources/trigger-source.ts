import type { FairLimiterLimits } from '../../kernel/fair-limiter.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { TenantTransaction } from '../../infra/storage/index.js';
import type { InboxMessage } from '../messages/inbox-message.js';
import type { TriggerRow } from '../triggers/triggers.store.js';
import type { ConfigOf, TriggerType } from '../triggers/types/registry.js';

/**
 * Why a source was not polled: its tenant is suspended, its trigger is unknown, as are all triggers of a tenant that is
 * being deleted, or this node holds too many waiting messages.
 */
export type SkipReason = 'suspended' | 'unknown' | 'full';

/** A poll that a node of another release may manage: it is tried again soon, and its position stays. */
export class UnreadableHereError extends Error {
  override readonly name = 'UnreadableHereError';
}

/** The messages that one poll found, and when to poll again on this node. */
export interface Polled {
  readonly items: readonly InboxMessage[];
  readonly againInMs?: number | undefined;
  /** The source was skipped and may still be due: it is put off, or it would hold back the other sources. */
  readonly skipped?: SkipReason;
}

/** What a transaction that changes a trigger knows when it sets the source's position. */
export interface ArmedRow {
  readonly row: Pick<TriggerRow, 'id' | 'enabled' | 'revision'>;
  /** By PostgreSQL's clock, which also decides when the source is due. */
  readonly now: Date;
  /** The source's start position, if it had to be queried first. */
  readonly beginning: object | undefined;
}

/** The sources of one type of trigger, as this node polls them. */
export interface TriggerSource<Type extends TriggerType = TriggerType> {
  readonly type: Type;
  /**
   * Whether a poll keeps a connection for the next one. Then the node that polled last also polls next: others take
   * over late polls only, and a change of the trigger is polled at once.
   */
  readonly keepsConnection: boolean;
  /** Concurrent polls of this node: in total, and of one tenant. */
  readonly pollsMax: FairLimiterLimits;
  /** Polls once. `early`: new content was announced, so the source need not be due. */
  poll(scope: TenantScope, triggerId: string, early: boolean): Promise<Polled>;
  /** Updates the source's position and due time in the transaction that changes its trigger. */
  arm(tx: TenantTransaction, config: ConfigOf<Type>, armed: ArmedRow): Promise<void>;
  /**
   * Queries where a source starts, before the transaction, since it may take a while. Undefined if the position is kept.
   * Refuses settings that the source itself finds wrong.
   */
  beginning?(
    scope: TenantScope,
    config: ConfigOf<Type>,
    before?: ConfigOf<Type>,
  ): Promise<object | undefined>;
  /** Refuses settings that the tenant may not save; the id is undefined for a new trigger. */
  checkSettings?(scope: TenantScope, triggerId: string | undefined, config: ConfigOf<Type>): Promise<void>;
  stop?(): Promise<void>;
}
