/**
 * Realtime events on one node. Rows are numbered in the order of their commits, and the feed of changes tells the
 * numbers; so for each tenant that somebody here listens to there is a cursor, and everything up to it has been handed
 * out: to sockets by publishing once under the tenant's topic, to streams one by one.
 *
 * Whoever joins reads the rows behind their own last number until they stand exactly where the cursor stands, and joins
 * in that very tick: nothing missing, nothing twice. A reader that is ahead of the cursor (the rows were there before
 * the feed told) moves the cursor up first, for all.
 */
import type { Time } from '../../../cluster/index.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import { tooMany } from '../../kernel/errors.js';
import type { ChangeFeed, HotReads } from '../../infra/storage/index.js';
import { type Envelope, envelopeOf, type StoredEvent } from './events.js';
import { pageRows, readAfter, realtimeTopic } from './realtime.store.js';

/** Hears events one by one. Must not throw. */
export interface Listener {
  hear(event: Envelope): void;
}

/** Somebody who is about to listen. */
export interface Joining {
  readonly scope: TenantScope;
  /** The number of the last event that they have; undefined: from now on. */
  readonly after: number | undefined;
  /** Gets what was missed, page by page. */
  missed(events: readonly Envelope[]): Promise<void>;
  /** Called in the tick from which on they must hear everything themselves. */
  joined(): void;
  readonly gone: AbortSignal;
}

interface Channel {
  readonly scope: TenantScope;
  /** Everything up to this number has been handed out. */
  cursor: number;
  /** There may be events up to this number. */
  heard: number;
  readonly listeners: Set<Listener>;
  /** Streams and sockets, also those that are still catching up. */
  users: number;
  pumping: Promise<void> | undefined;
}

export interface HubParts {
  readonly feed: ChangeFeed;
  readonly reads: HotReads;
  readonly time: Time;
  /** To the sockets of this node. */
  readonly publish: (topic: string, text: string) => void;
  readonly report: (attempted: string, error: unknown) => void;
}

/** Of one tenant on one node. */
const usersMax = 1_000;
/** A client that comes from a node that was ahead may name an event that this one has not heard of yet. */
const aheadMs = 1_000;
const retryMs = 500;

export function topicOf({ tenantId }: TenantScope): string {
  return `realtime ${tenantId}`;
}

export class Hub {
  readonly #parts: HubParts;
  readonly #channels = new Map<string, Channel>();
  readonly #stopping = new AbortController();
  readonly #unsubscribe: () => void;

  constructor(parts: HubParts) {
    this.#parts = parts;
    this.#unsubscribe = parts.feed.subscribe(realtimeTopic, {
      onChange: ({ tenantId, number }) => void this.#heard(this.#channels.get(tenantId ?? ''), number),
      onDropEverything: () => {
        const { position } = parts.feed;
        for (const channel of this.#channels.values()) {
          // A database that was restored gives numbers again that it had given before.
          channel.cursor = Math.min(channel.cursor, position);
          void this.#heard(channel, position);
        }
      },
    });
  }

  /** Aborts when the node is leaving: streams end, and their clients go elsewhere. */
  get stopping(): AbortSignal {
    return this.#stopping.signal;
  }

  /** Refuses whoever would be one too many. */
  admit({ tenantId }: TenantScope): void {
    if ((this.#channels.get(tenantId)?.users ?? 0) < usersMax) return;
    const nowMs = this.#parts.time.wallMs();
    const message = `The tenant has ${usersMax} realtime connections to this node.`;
    throw tooMany(usersMax, { atMs: nowMs + 5_000, nowMs, message });
  }

  /** Counts somebody in, until the returned function is called. */
  enter(scope: TenantScope): () => void {
    const { tenantId } = scope;
    let channel = this.#channels.get(tenantId);
    if (channel === undefined) {
      const { position } = this.#parts.feed;
      channel = {
        scope,
        cursor: position,
        heard: position,
        listeners: new Set(),
        users: 0,
        pumping: undefined,
      };
      this.#channels.set(tenantId, channel);
    }
    const entered = channel;
    entered.users += 1;
    return () => {
      entered.users -= 1;
      if (entered.users === 0) this.#channels.delete(tenantId);
    };
  }

  /** From now on the listener hears what is handed out. */
  listen(scope: TenantScope, listener: Listener): () => void {
    const { listeners } = this.#channelOf(scope);
    listeners.add(listener);
    return () => listeners.delete(listener);
  }

  /** Only between `enter` and its end. */
  async join({ scope, after, missed, joined, gone }: Joining): Promise<void> {
    const channel = this.#channelOf(scope);
    if (after === undefined) return joined();
    const { feed, reads } = this.#parts;
    if (after > feed.position) await feed.reached(after, aheadMs);
    let position = Math.min(after, feed.position);
    while (!gone.aborted) {
      const { cursor } = channel;
      const events = await readAfter(reads, scope, position);
      if (events.length > 0) await missed(events.map((event) => envelopeOf(scope.tenantId, event)));
      position = events.at(-1)?.number ?? position;
      if (events.length === pageRows) continue;
      position = Math.max(position, cursor);
      if (position > channel.cursor) await this.#heard(channel, position);
      if (position === channel.cursor) return joined();
    }
  }

  stop(): void {
    this.#unsubscribe();
    this.#stopping.abort();
  }

  #channelOf({ tenantId }: TenantScope): Channel {
    const channel = this.#channels.get(tenantId);
    if (channel === undefined) throw new Error('Nobody has entered for this tenant');
    return channel;
  }

  /** Resolves when the cursor has reached the number, or when it was tried in vain. */
  #heard(channel: Channel | undefined, number: number): Promise<void> {
    if (channel === undefined) return Promise.resolve();
    channel.heard = Math.max(channel.heard, number);
    return this.#pump(channel);
  }

  #pump(channel: Channel): Promise<void> {
    if (isIdle(channel)) return Promise.resolve();
    channel.pumping ??= this.#run(channel);
    return channel.pumping;
  }

  async #run(channel: Channel): Promise<void> {
    const { reads, time, report } = this.#parts;
    try {
      while (!isIdle(channel)) {
        const { heard } = channel;
        const events = await readAfter(reads, channel.scope, channel.cursor);
        for (const event of events) this.#handOut(channel, event);
        const last = events.at(-1)?.number ?? channel.cursor;
        // A whole page may have more behind it; else everything that was heard of has been read.
        channel.cursor = events.length === pageRows ? last : Math.max(heard, last);
      }
    } catch (error) {
      report('reading realtime events', error);
      if (!this.stopping.aborted) time.after(retryMs, () => this.#again(channel));
    } finally {
      // In the tick of the last look at the channel, so that nothing heard meanwhile is left lying.
      channel.pumping = undefined;
    }
  }

  #again(channel: Channel): void {
    if (!this.stopping.aborted) void this.#pump(channel);
  }

  #handOut(channel: Channel, event: StoredEvent): void {
    const envelope = envelopeOf(channel.scope.tenantId, event);
    this.#parts.publish(topicOf(channel.scope), JSON.stringify(envelope));
    for (const listener of channel.listeners) listener.hear(envelope);
  }
}

function isIdle({ cursor, heard, users }: Channel): boolean {
  return cursor >= heard || users === 0;
}
