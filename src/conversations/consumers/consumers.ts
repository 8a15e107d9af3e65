import { forgetAuditedConsumer, recordAudit } from '../../tenancy/audit/index.js';
import type { FieldChanges } from '../../kernel/audit-context.js';
import { PlatformError } from '../../kernel/errors.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
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
  findConsumer as findRow,
  listConsumers as listRows,
  lockConsumer,
  markAllowed,
  markDenied,
} from './consumers.store.js';
import { denylistTopic } from './denylist.js';
import { forgetFacts } from './facts.store.js';

/** Longer than the feed counts as fresh without a read. */
const settledWithinMs = 2_500;

/** What sessions count of a consumer. */
export interface SessionFigures {
  readonly total_sessions: number;
  readonly total_turns: number;
  readonly last_seen: Date;
}

/** The figures of these consumers, without those that have no session. */
export type FiguresOf = (
  tx: TenantTransaction,
  keys: readonly string[],
) => Promise<ReadonlyMap<string, SessionFigures>>;

export type Consumer = ConsumerRow & Pick<SessionFigures, 'total_sessions' | 'total_turns'>;

export interface ConsumersParts {
  readonly store: Store;
  readonly feed: ChangeFeed;
  readonly figuresOf: FiguresOf;
  readonly time: Time;
  /** The keys under which a block of this consumer stands after an erasure. */
  readonly erasedKeys: (scope: TenantScope, key: string) => readonly string[];
  /** What stands for the key of an erased consumer from now on. */
  readonly erasedKey: (scope: TenantScope, key: string) => string;
}

interface ConsumerAct {
  readonly action: string;
  readonly key: string;
  readonly isKnown: boolean;
  readonly reason?: string | null;
  readonly changes?: FieldChanges;
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
  ): Promise<readonly Consumer[]> {
    return this.#parts.store.inTenant(scope, async (tx) =>
      this.#withFigures(tx, await listRows(tx, filter, after, limit)),
    );
  }

  find({ scope }: TenantCaller, key: string): Promise<Consumer | null> {
    return this.#parts.store.inTenant(scope, (tx) => this.#find(tx, key));
  }

  /** Accepts keys that were never seen, so that a consumer can be denied before the first message. */
  deny(caller: TenantCaller, key: string, reason: string | undefined): Promise<Consumer> {
    const at = new Date(this.#parts.time.wallMs());
    return this.#change(caller, key, true, (tx) => markDenied(tx, { key, reason, by: actorOf(caller), at }));
  }

  allow(caller: TenantCaller, key: string): Promise<Consumer> {
    return this.#change(caller, key, false, (tx) =>
      markAllowed(tx, key, this.#parts.erasedKeys(caller.scope, key)),
    );
  }

  /** Deletes what agents remember of the consumer. */
  async forget(caller: TenantCaller, key: string): Promise<void> {
    await this.#parts.store.inTenant(caller.scope, async (tx) => {
      const isKnown = await lockConsumer(tx, key);
      const hadFacts = await forgetFacts(tx, key);
      if (!isKnown && !hadFacts)
        throw new PlatformError('not_found', { message: 'The consumer was not found.' });
      await this.#audit(tx, caller, { action: 'consumer.forgotten', key, isKnown });
    });
  }

  async #find(tx: TenantTransaction, key: string): Promise<Consumer | null> {
    const row = await findRow(tx, key);
    const [found] = row === null ? [] : await this.#withFigures(tx, [row]);
    return found ?? null;
  }

  /** Counted from the sessions, so that repeated writes and erased sessions cannot make the figures wrong. */
  async #withFigures(tx: TenantTransaction, rows: readonly ConsumerRow[]): Promise<readonly Consumer[]> {
    const keys = rows.map(({ consumer_key: key }) => key);
    const figures = await this.#parts.figuresOf(tx, keys);
    return rows.map((row) => {
      const { total_sessions = 0, total_turns = 0, last_seen = null } = figures.get(row.consumer_key) ?? {};
      return { ...row, total_sessions, total_turns, last_seen: later(row.last_seen, last_seen) };
    });
  }

  async #change(
    caller: TenantCaller,
    key: string,
    blocked: boolean,
    mark: (tx: TenantTransaction) => Promise<boolean>,
  ): Promise<Consumer> {
    const { store, feed, time } = this.#parts;
    const { scope } = caller;
    const { consumer, change } = await store.inTenant(scope, async (tx) => {
      const changed = await mark(tx);
      const known = await this.#find(tx, key);
      const found = known ?? neverSeen(key, new Date(time.wallMs()));
      const by = actorOf(caller);
      await this.#audit(tx, caller, {
        action: blocked ? 'consumer.denied' : 'consumer.allowed',
        key,
        isKnown: known !== null,
        reason: found.blocked_reason,
        changes: changed ? { blocked: { old: !blocked, new: blocked } } : {},
      });
      if (!changed) return { consumer: found, change: undefined };
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

  /**
   * An entry has the plain key only while the consumer is known, so that an erasure finds it: one of an unknown consumer
   * would keep the key after the erasure, and nobody could remove it. The consumer's row is locked until the commit.
   */
  async #audit(
    tx: TenantTransaction,
    caller: TenantCaller,
    { action, key, isKnown, reason, changes = {} }: ConsumerAct,
  ): Promise<void> {
    const { scope } = caller;
    const name = isKnown ? key : this.#parts.erasedKey(scope, key);
    // A consumer who was denied before the first message is unknown again once allowed.
    if (!isKnown) await forgetAuditedConsumer(tx, key, name);
    await recordAudit(tx, {
      tenantId: scope.tenantId,
      actor: actorOf(caller),
      action,
      subject: `consumer:${name}`,
      ...(reason === undefined ? {} : { details: { reason } }),
      changes,
    });
  }
}

function later(one: Date | null, other: Date | null): Date | null {
  return one === null || (other !== null && other > one) ? other : one;
}

function neverSeen(key: string, at: Date): Consumer {
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
