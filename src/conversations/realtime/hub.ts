/**
 * Realtime events on one node. Rows are numbered in the order of their commits, and the change feed reports the
 * numbers. Each tenant with a listener on this node has a cursor: everything up to it has been handed out, to
 * sockets by one publication under the tenant's topic, to streams one by one. A new reader reads the rows after its
 * own last number until it has reached the cursor, and joins in that same tick, so that no event is missing or
 * repeated. If the reader gets ahead of the cursor (the rows were there before the feed reported them), it first
 * moves the cursor up for all readers.
 */
import type { Time } from '../../../cluster/index.js';
import { controllerOfMany, type LeaveSignal } from '../../kernel/leave-signal.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import { tooManyRequests } from '../../kernel/errors.js';
import type { ChangeFeed, HotReads } from '../../infra/storage/index.js';
import { type Envelope, envelopeOf, type StoredEvent } from './events.js';
import { pageRows, readAfter, realtimeTopic } from './realtime.store.js';

/** Receives events one by one. Must not throw. */
export interface Listener {
  receive(event: Envelope): void;
}

/** A reader that is about to join. */
export interface Joining {
  readonly scope: TenantScope;
  /** The number of the last event that the reader has; undefined: only new events. */
  readonly after: number | undefined;
  /** Receives the missed events, page by page. */
  missed(events: readonly Envelope[]): Promise<void>;
  /** Called in the tick from which the reader must receive all events itself: those after this number. */
  joined(position: number): void;
  readonly gone: Pick<LeaveSignal, 'aborted'>;
}

interface Channel {
  readonly scope: TenantScope;
  /** Everything up to this number has been handed out. */
  cursor: number;
  /** There may be events up to this number. */
  reportedUpTo: number;
  /** Raised when the numbers may have gone back: what was being read before does not count. */
  generation: number;
  readonly listeners: Set<Listener>;
  /** Streams and sockets, including those that are still catching up. */
  users: number;
  pumping: Promise<void> | undefined;
}

export interface HubParts {
  readonly feed: Pick<ChangeFeed, 'subscribe' | 'position' | 'reached'>;
  readonly reads: Pick<HotReads, 'inTenant'>;
  readonly time: Time;
  /** Publishes to the sockets of this node. */
  readonly publish: (topic: string, text: string) => void;
  readonly report: (attempted: string, error: unknown) => void;
}

/** Per tenant and node. */
const usersMax = 1_000;
/** A client that comes from a node that was ahead may send the id of an event that this node has not read yet. */
const aheadMs = 1_000;
const retryMs = 500;

export function topicOf({ tenantId }: TenantScope): string {
  return `realtime ${tenantId}`;
}

export class Hub {
  readonly #parts: HubParts;
  readonly #channels = new Map<string, Channel>();
  readonly #stopping = controllerOfMany();
  readonly #unsubscribe: () => void;

  constructor(parts: HubParts) {
    this.#parts = parts;
    this.#unsubscribe = parts.feed.subscribe(realtimeTopic, {
      onChange: ({ tenantId, number }) => void this.#advanceTo(this.#channels.get(tenantId ?? ''), number),
      onDropEverything: () => this.#beginAgain(parts.feed.position),
    });
  }

  /** Aborts when the node is leaving: streams end, and their clients reconnect to another node. */
  get stopping(): AbortSignal {
    return this.#stopping.signal;
  }

  /** Refuses a reader above the limit. */
  admit({ tenantId }: TenantScope): void {
    if ((this.#channels.get(tenantId)?.users ?? 0) < usersMax) return;
    const nowMs = this.#parts.time.wallMs();
    const message = `The tenant already has ${usersMax} realtime connections to this node, the maximum.`;
    throw tooManyRequests(usersMax, { atMs: nowMs + 5_000, nowMs, message });
  }

  /** Counts a reader until the returned function is called. */
  enter(scope: TenantScope): () => void {
    const { tenantId } = scope;
    let channel = this.#channels.get(tenantId);
    if (channel === undefined) {
      const { position } = this.#parts.feed;
      channel = {
        scope,
        cursor: position,
        reportedUpTo: position,
        generation: 0,
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

  /** The listener receives all events that are handed out from now on. */
  listen(scope: TenantScope, listener: Listener): () => void {
    const { listeners } = this.#channelOf(scope);
    listeners.add(listener);
    return () => listeners.delete(listener);
  }

  /** Valid only between `enter` and its end. */
  async join({ scope, after, missed, joined, gone }: Joining): Promise<void> {
    const channel = this.#channelOf(scope);
    if (after === undefined) return joined(channel.cursor);
    const { feed, reads } = this.#parts;
    if (after > feed.position) await feed.reached(after, aheadMs);
    let position = Math.min(after, feed.position);
    let { generation } = channel;
    while (!gone.aborted) {
      if (generation !== channel.generation) position = Math.min(position, channel.cursor);
      ({ generation } = channel);
      const { cursor } = channel;
      const events = await readAfter(reads, scope, position);
      if (generation !== channel.generation) continue;
      if (events.length > 0) await missed(events.map((event) => envelopeOf(scope.tenantId, event)));
      position = events.at(-1)?.number ?? position;
      if (events.length === pageRows || generation !== channel.generation) continue;
      position = Math.max(position, cursor);
      if (position > channel.cursor) await this.#advanceTo(channel, position);
      if (generation === channel.generation && position === channel.cursor) return joined(position);
    }
  }

  stop(): void {
    this.#unsubscribe();
    this.#stopping.abort();
  }

  #channelOf({ tenantId }: TenantScope): Channel {
    const channel = this.#channels.get(tenantId);
    if (channel === undefined) throw new Error('join() needs a reader that was counted by enter()');
    return channel;
  }

  /** Resolves when the cursor has reached the number, or when reading failed. */
  #advanceTo(channel: Channel | undefined, number: number): Promise<void> {
    if (channel === undefined) return Promise.resolve();
    channel.reportedUpTo = Math.max(channel.reportedUpTo, number);
    return this.#pump(channel);
  }

  /** A restored database assigns numbers again that it had assigned before. */
  #beginAgain(position: number): void {
    for (const channel of this.#channels.values()) {
      channel.generation += 1;
      channel.cursor = Math.min(channel.cursor, position);
      channel.reportedUpTo = position;
      void this.#pump(channel);
    }
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
        const { reportedUpTo, generation } = channel;
        const events = await readAfter(reads, channel.scope, channel.cursor);
        // The last reader has left: the next one has a channel of its own, with a place that may be behind these events.
        if (channel.users === 0) return;
        if (channel.generation !== generation) continue;
        for (const event of events) this.#handOut(channel, event);
        const last = events.at(-1)?.number ?? channel.cursor;
        // A full page may have more rows after it; otherwise everything up to the reported number has been read.
        channel.cursor = events.length === pageRows ? last : Math.max(reportedUpTo, last);
      }
    } catch (error) {
      report('reading realtime events', error);
      if (!this.stopping.aborted) time.after(retryMs, () => this.#again(channel));
    } finally {
      // Cleared in the same tick as the last check of the channel, so that no number reported meanwhile is missed.
      channel.pumping = undefined;
    }
  }

  #again(channel: Channel): void {
    if (!this.stopping.aborted) void this.#pump(channel);
  }

  #handOut(channel: Channel, event: StoredEvent): void {
    const envelope = envelopeOf(channel.scope.tenantId, event);
    this.#parts.publish(topicOf(channel.scope), JSON.stringify(envelope));
    for (const listener of channel.listeners) listener.receive(envelope);
  }
}

function isIdle({ cursor, reportedUpTo, users }: Channel): boolean {
  return cursor >= reportedUpTo || users === 0;
}
