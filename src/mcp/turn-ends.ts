import type { Time } from '../../cluster/index.js';
import { PlatformError, tooManyRequests } from '../kernel/errors.js';
import type { TenantScope } from '../kernel/tenant-scope.js';

/** Sessions of one tenant that a node watches at once. */
const watchedMax = 1_000;
/** The pause before the watch connects to the session's next owner, after the previous one moved or died. */
const againMs = 1_000;
/** How often the session's number of turns is read, which shows turns that ended while no owner was watched. */
const countEveryMs = 10_000;

/** Called with undefined if turns have ended and their ids are not known. */
export type OnTurnEnd = (executionId: string | undefined) => void;

/** The part of sessions that is used here. */
export interface WatchedSessions {
  session(scope: TenantScope, id: string): Promise<{ readonly total_turns: number }>;
  watch(
    scope: TenantScope,
    id: string,
  ): AsyncIterable<{
    readonly executionId: string;
    readonly events: readonly { readonly event: { readonly type: string } }[];
  }> & { cancel(): void };
}

export interface TurnEndsParts {
  readonly sessions: WatchedSessions;
  readonly time: Pick<Time, 'after' | 'wallMs'>;
}

/**
 * The ends of turns in the sessions that clients subscribed to, wherever their actors live. Only these are followed: a
 * recorded event for every turn of the platform would make all turns wait for the one counter of changes.
 */
export class TurnEnds {
  readonly #parts: TurnEndsParts;
  readonly #tenants = new Map<string, Map<string, SessionWatch>>();

  constructor(parts: TurnEndsParts) {
    this.#parts = parts;
  }

  /** Refuses a stream that would exceed the bound of its tenant. */
  admit({ tenantId }: TenantScope, more: number): void {
    if ((this.#tenants.get(tenantId)?.size ?? 0) + more <= watchedMax) return;
    const nowMs = this.#parts.time.wallMs();
    const message = `Subscriptions of the tenant already follow ${watchedMax} sessions on this node, the maximum.`;
    throw tooManyRequests(watchedMax, { atMs: nowMs + 5_000, nowMs, message });
  }

  /** Clients of one session share a watch. Ends with the returned function. `turns`: those that the client knows of. */
  follow(
    scope: TenantScope,
    { sessionId, turns }: { readonly sessionId: string; readonly turns: number | undefined },
    onEnd: OnTurnEnd,
  ): () => void {
    const { tenantId } = scope;
    const watches = this.#tenants.get(tenantId) ?? new Map<string, SessionWatch>();
    this.#tenants.set(tenantId, watches);
    const watch = watches.get(sessionId) ?? new SessionWatch(this.#parts, scope, sessionId, turns);
    watches.set(sessionId, watch);
    // A new function, since the set would merge two streams that pass the same one.
    const listener: OnTurnEnd = (executionId) => onEnd(executionId);
    watch.add(listener, turns);
    return () => {
      watch.listeners.delete(listener);
      if (watch.listeners.size > 0 || watches.get(sessionId) !== watch) return;
      watch.stop();
      watches.delete(sessionId);
      if (watches.size === 0) this.#tenants.delete(tenantId);
    };
  }
}

class SessionWatch {
  readonly listeners = new Set<OnTurnEnd>();
  readonly #parts: TurnEndsParts;
  readonly #scope: TenantScope;
  readonly #sessionId: string;
  #events: { cancel(): void } | undefined;
  #timers = new Set<{ cancel(): void }>();
  #isOver = false;
  /** Turns of the session that listeners know of. */
  #known: number | undefined;

  constructor(parts: TurnEndsParts, scope: TenantScope, sessionId: string, known: number | undefined) {
    this.#parts = parts;
    this.#scope = scope;
    this.#sessionId = sessionId;
    this.#known = known;
    void this.#begin();
  }

  /** Turns that ended since the client read their number were told to the others only. */
  add(listener: OnTurnEnd, known: number | undefined): void {
    this.listeners.add(listener);
    if (known === undefined || this.#known === undefined || this.#known <= known) return;
    this.#later(0, () => {
      if (this.listeners.has(listener)) listener(undefined);
    });
  }

  stop(): void {
    this.#isOver = true;
    this.#events?.cancel();
    for (const timer of this.#timers) timer.cancel();
  }

  /** A session that does not exist, or of another tenant, has no turns: there is nothing to watch. */
  async #begin(): Promise<void> {
    if (!(await this.#count()) || this.#isOver) return;
    this.#later(countEveryMs, () => void this.#countAgain());
    // A turn may have ended between the count and the first event.
    this.#later(againMs, () => void this.#count());
    await this.#read();
  }

  async #read(): Promise<void> {
    const { sessions } = this.#parts;
    try {
      const events = sessions.watch(this.#scope, this.#sessionId);
      this.#events = events;
      for await (const { executionId, events: batch } of events) {
        if (batch.some(({ event }) => event.type === 'done')) this.#notify(executionId, 1);
      }
    } catch {
      // The owner moved or died, or the watch reached its time limit.
    }
    this.#later(againMs, () => void this.#reconnect());
  }

  async #reconnect(): Promise<void> {
    // The session was erased: nothing is left to watch, and the client's next read shows it.
    if (!(await this.#count())) return this.#notify(undefined, 0);
    if (!this.#isOver) await this.#read();
  }

  async #countAgain(): Promise<void> {
    if (await this.#count()) this.#later(countEveryMs, () => void this.#countAgain());
  }

  /** Reads the number of turns. False if there is no such session. */
  async #count(): Promise<boolean> {
    try {
      const { total_turns: turns } = await this.#parts.sessions.session(this.#scope, this.#sessionId);
      const known = (this.#known ??= turns);
      if (turns > known) this.#notify(undefined, turns - known);
      return true;
    } catch (error) {
      // If the store is unavailable, the next count tries again.
      return !(error instanceof PlatformError && error.code === 'not_found');
    }
  }

  #notify(executionId: string | undefined, turns: number): void {
    if (this.#isOver) return;
    this.#known = (this.#known ?? 0) + turns;
    for (const listener of this.listeners) listener(executionId);
  }

  #later(ms: number, action: () => void): void {
    if (this.#isOver) return;
    const timer = this.#parts.time.after(ms, () => {
      this.#timers.delete(timer);
      if (!this.#isOver) action();
    });
    this.#timers.add(timer);
  }
}
