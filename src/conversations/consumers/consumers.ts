import { recordAudit } from '../../tenancy/audit/index.js';
import { actorOf, type TenantCaller } from '../../kernel/caller.js';
import type { Time } from '../../../cluster/index.js';
import { recordRealtimeEvent } from '../realtime/index.js';
import {
  type ChangeFeed,
  recordChange,
  type Store,
  type TenantTransaction,
} from '../../infra/storage/index.js';
import {
  type ConsumerFilter,
  type ConsumerPosition,
  type ConsumerRow,
  findConsumer,
  listConsumers,
  markAllowed,
  markDenied,
} from './consumers.store.js';
import { denylistTopic } from './denylist.js';

/** Longer than the feed counts as fresh without a read. */
const settledWithinMs = 2_500;

export interface ConsumersParts {
  readonly store: Store;
  readonly feed: ChangeFeed;
  readonly time: Time;
}

/** The consumers that integrations name, and the denylist. */
export class Consumers {
  readonly #parts: ConsumersParts;

  constructor(parts: ConsumersParts) {
    this.#parts = parts;
  }

  list(
    { scope }: TenantCaller,
    filter: ConsumerFilter,
    after: ConsumerPosition | undefined,
    limit: number,
  ): Promise<readonly ConsumerRow[]> {
    return this.#parts.store.inTenant(scope, (tx) => listConsumers(tx, filter, after, limit));
  }

  find({ scope }: TenantCaller, key: string): Promise<ConsumerRow | null> {
    return this.#parts.store.inTenant(scope, (tx) => findConsumer(tx, key));
  }

  /** Accepts keys that were never seen, so that a consumer can be denied before the first message. */
  deny(caller: TenantCaller, key: string, reason: string | undefined): Promise<ConsumerRow> {
    const at = new Date(this.#parts.time.wallMs());
    return this.#change(caller, key, true, (tx) => markDenied(tx, { key, reason, by: actorOf(caller), at }));
  }

  allow(caller: TenantCaller, key: string): Promise<ConsumerRow> {
    return this.#change(caller, key, false, (tx) => markAllowed(tx, key));
  }

  async #change(
    caller: TenantCaller,
    key: string,
    blocked: boolean,
    mark: (tx: TenantTransaction) => Promise<boolean>,
  ): Promise<ConsumerRow> {
    const { store, feed, time } = this.#parts;
    const { scope } = caller;
    const { consumer, change } = await store.inTenant(scope, async (tx) => {
      const changed = await mark(tx);
      const found = (await findConsumer(tx, key)) ?? neverSeen(key, new Date(time.wallMs()));
      if (!changed) return { consumer: found, change: undefined };
      const by = actorOf(caller);
      await recordAudit(tx, {
        tenantId: scope.tenantId,
        actor: by,
        action: blocked ? 'consumer.denied' : 'consumer.allowed',
        subject: `consumer:${key}`,
        details: { reason: found.blocked_reason },
      });
      await recordRealtimeEvent(tx, {
        type: 'consumer_denylist_changed',
        data: { consumer_key: key, blocked, by },
      });
      const { tenantId } = scope;
      const number = await recordChange(tx, { topic: denylistTopic, tenantId, subject: tenantId });
      return { consumer: found, change: number };
    });
    // Waits until this node has read the change, so that the caller finds it in force. While the feed is
    // unavailable, no cached entry is trusted.
    if (change !== undefined) await feed.reached(change, settledWithinMs);
    return consumer;
  }
}

function neverSeen(key: string, at: Date): ConsumerRow {
  return {
    consumer_key: key,
    display_name: null,
    channels: [],
    total_sessions: 0,
    total_turns: 0,
    first_seen: null,
    last_seen: null,
    latest_at: at,
    blocked: false,
    blocked_reason: null,
    blocked_by: null,
    blocked_at: null,
  };
}
