/**
 * The sessions of a tenant as they change, for the lists that people look at. While a tenant has a reader on this node,
 * its newest sessions are read once a second, whatever the number of readers; without a reader nothing is read. Turns
 * write nothing for it: an event for each message would queue the commits of all tenants behind one counter.
 */
import type { Time } from '../../../cluster/index.js';
import { tooManyRequests } from '../../kernel/errors.js';
import { controllerOfMany } from '../../kernel/leave-signal.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { Store } from '../../infra/storage/index.js';
import { listSessions, type ReadSession } from './reads.store.js';
import { type LastMessage, lastMessages } from './session-previews.store.js';

const readEveryMs = 1_000;
/** A commit may take so long after the time that it carries, and clocks of nodes may be so far apart. */
const overlapMs = 5_000;
const sessionsMax = 1_000;
const readersMax = 200;

export interface ChangedSession {
  readonly session: ReadSession;
  readonly lastMessage: LastMessage | undefined;
}

export interface SessionChange {
  readonly sessions: readonly ChangedSession[];
  /** More changed than one reading holds: readers list the sessions again. */
  readonly cut: boolean;
}

type Receive = (change: SessionChange) => void;

interface Channel {
  readonly readers: Set<Receive>;
  seen: ReadonlyMap<string, string>;
  fromMs: number;
  timer: { cancel(): void };
}

export interface SessionChangesParts {
  readonly store: Pick<Store, 'inTenant'>;
  readonly time: Time;
  readonly report: (attempted: string, error: unknown) => void;
}

export class SessionChanges {
  readonly #parts: SessionChangesParts;
  readonly #channels = new Map<string, Channel>();
  readonly #stopping = controllerOfMany();

  constructor(parts: SessionChangesParts) {
    this.#parts = parts;
  }

  /** Aborts when the node is leaving: streams end, and their readers go to another node. */
  get stopping(): AbortSignal {
    return this.#stopping.signal;
  }

  /** Refuses a reader above the limit. */
  admit({ tenantId }: TenantScope): void {
    if ((this.#channels.get(tenantId)?.readers.size ?? 0) < readersMax) return;
    const nowMs = this.#parts.time.wallMs();
    const message = `The tenant already has ${readersMax} readers of sessions at this node, the maximum.`;
    throw tooManyRequests(readersMax, { atMs: nowMs + 5_000, nowMs, message });
  }

  /** Hands out what changes from now on, until the returned function is called. */
  follow(scope: TenantScope, receive: Receive): () => void {
    const { tenantId } = scope;
    const channel = this.#channels.get(tenantId) ?? this.#open(scope);
    channel.readers.add(receive);
    return () => {
      channel.readers.delete(receive);
      if (channel.readers.size > 0 || this.#channels.get(tenantId) !== channel) return;
      channel.timer.cancel();
      this.#channels.delete(tenantId);
    };
  }

  stop(): void {
    this.#stopping.abort();
    for (const { timer } of this.#channels.values()) timer.cancel();
  }

  #open(scope: TenantScope): Channel {
    const { time } = this.#parts;
    const channel: Channel = {
      readers: new Set(),
      seen: new Map(),
      fromMs: time.wallMs() - overlapMs,
      timer: time.after(0, () => this.#turn(scope, channel)),
    };
    this.#channels.set(scope.tenantId, channel);
    return channel;
  }

  #turn(scope: TenantScope, channel: Channel): void {
    const { time, report } = this.#parts;
    this.#read(scope, channel)
      .catch((error: unknown) => report('reading the sessions that changed', error))
      .finally(() => {
        if (this.stopping.aborted || this.#channels.get(scope.tenantId) !== channel) return;
        channel.timer = time.after(readEveryMs, () => this.#turn(scope, channel));
      });
  }

  async #read(scope: TenantScope, channel: Channel): Promise<void> {
    const { store, time } = this.#parts;
    const nowMs = time.wallMs();
    const { change, seen } = await store.inTenant(scope, async (tx) => {
      const page = { limit: sessionsMax, after: undefined, from: new Date(channel.fromMs) };
      const found = await listSessions(scope, tx, page);
      const changed = found.filter((session) => channel.seen.get(session.id) !== stampOf(session));
      const last = await lastMessages(
        tx,
        changed.map(({ id }) => id),
      );
      const sessions = changed.map((session) => ({ session, lastMessage: last.get(session.id) }));
      return {
        change: { sessions, cut: found.length > sessionsMax },
        seen: new Map(found.map((session) => [session.id, stampOf(session)])),
      };
    });
    // Not before: after a failed reading, or within a repeated one, the readers have been told nothing.
    channel.seen = seen;
    channel.fromMs = nowMs - overlapMs;
    if (change.sessions.length === 0) return;
    for (const receive of channel.readers) receive(change);
  }
}

/** Differs when what a list shows of the session differs. */
function stampOf({ last_interaction, total_turns, control_mode, awaits_approval }: ReadSession): string {
  return `${last_interaction.getTime()} ${total_turns} ${control_mode} ${awaits_approval}`;
}
