import type { Time } from '../../cluster/index.js';
import { PlatformError, tooManyRequests } from '../kernel/errors.js';
import type { TenantScope } from '../kernel/tenant-scope.js';

/** Sessions of one tenant that a node watches at once. */
const watchedMax = 1_000;
/** An owner that moves or dies is followed to the next one. */
const againMs = 1_000;
/** A turn that ended while no owner was followed is found by the count of the session's turns. */
const lookMs = 10_000;

/** Undefined: turns have ended, and which ones is not known. */
export type OnTurnEnd = (executionId: string | undefined) => void;

/** What is asked of the sessions. */
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
 * recorded event for every turn of the platform would put all turns in the line of the one counter of changes.
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

  /** Clients of one session share a watch. Ends with the returned function. */
  follow(scope: TenantScope, sessionId: string, onEnd: OnTurnEnd): () => void {
    const { tenantId } = scope;
    const watches = this.#tenants.get(tenantId) ?? new Map<string, SessionWatch>();
    this.#tenants.set(tenantId, watches);
    const watch = watches.get(sessionId) ?? new SessionWatch(this.#parts, scope, sessionId);
    watches.set(sessionId, watch);
    // A listener of its own, so that two streams never share one.
    const listener: OnTurnEnd = (executionId) => onEnd(executionId);
    watch.listeners.add(listener);
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

  constructor(parts: TurnEndsParts, scope: TenantScope, sessionId: string) {
    this.#parts = parts;
    this.#scope = scope;
    this.#sessionId = sessionId;
    void this.#begin();
  }

  stop(): void {
    this.#isOver = true;
    this.#events?.cancel();
    for (const timer of this.#timers) timer.cancel();
  }

  /** A session that does not exist, or of another tenant, has no turns: there is nothing to watch. */
  async #begin(): Promise<void> {
    if (!(await this.#look()) || this.#isOver) return;
    this.#later(lookMs, () => void this.#lookAgain());
    // A turn may have ended between the look and the first event.
    this.#later(againMs, () => void this.#look());
    await this.#read();
  }

  async #read(): Promise<void> {
    const { sessions } = this.#parts;
    try {
      const events = sessions.watch(this.#scope, this.#sessionId);
      this.#events = events;
      for await (const { executionId, events: batch } of events) {
        if (batch.some(({ event }) => event.type === 'done')) this.#tell(executionId, 1);
      }
    } catch {
      // The owner moved or died, or the watch reached its time limit.
    }
    this.#later(againMs, () => void this.#goOn());
  }

  async #goOn(): Promise<void> {
    // A session that was erased: the client's next read says so, and there is nothing left to watch.
    if (!(await this.#look())) return this.#tell(undefined, 0);
    if (!this.#isOver) await this.#read();
  }

  async #lookAgain(): Promise<void> {
    if (await this.#look()) this.#later(lookMs, () => void this.#lookAgain());
  }

  /** False if there is no such session. */
  async #look(): Promise<boolean> {
    try {
      const { total_turns: turns } = await this.#parts.sessions.session(this.#scope, this.#sessionId);
      const known = (this.#known ??= turns);
      if (turns > known) this.#tell(undefined, turns - known);
      return true;
    } catch (error) {
      // A store that is unavailable is asked again.
      return !(error instanceof PlatformError && error.code === 'not_found');
    }
  }

  #tell(executionId: string | undefined, turns: number): void {
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
