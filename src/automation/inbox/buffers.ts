import { type Deadlined, Deadlines, type Time, type Timer } from '../../../cluster/index.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { Store } from '../../infra/storage/index.js';
import type { TriggerMeasures } from '../messages/measures.js';
import { windowLateMs } from './accept-target.js';
import { bytesUnknown } from './flush-target.js';
import type { Flushes } from './flushes.js';
import type { InboxRunner } from './inbox-runner.js';
import { claimDueWindows, type Window } from './windows.store.js';

const sweepEveryMs = 1_000;
const windowsMax = 1_000;
const againMs = 1_000;

export interface BuffersParts {
  readonly store: Store;
  readonly flushes: Pick<Flushes, 'flush'>;
  readonly runner: Pick<InboxRunner, 'begin'>;
  readonly measures: Pick<TriggerMeasures, 'flushed'>;
  readonly time: Time;
  readonly scopeOf: (tenantId: string) => TenantScope;
  readonly report: (attempted: string, error: unknown) => void;
}

/**
 * An open window that this node will flush. It is the wheel's entry itself, since there may be a hundred thousand of
 * them.
 */
class OpenWindow implements Deadlined, Window {
  readonly scope: TenantScope;
  readonly triggerId: string;
  readonly sessionId: string;
  readonly #expire: (window: OpenWindow) => void;
  /** The size of its messages that this node accepted. */
  bytes = 0;
  deadlineAtMs = 0;
  deadlineNext: Deadlined | undefined = undefined;
  deadlinePrevious: Deadlined | undefined = undefined;

  constructor(scope: TenantScope, { triggerId, sessionId }: Window, over: (window: OpenWindow) => void) {
    this.scope = scope;
    this.triggerId = triggerId;
    this.sessionId = sessionId;
    this.#expire = over;
  }

  onDeadline(): void {
    this.#expire(this);
  }
}

/**
 * Windows of messages that are answered together. A window is a row whose end PostgreSQL moves with each message; the
 * node that accepted the last message keeps the end in a timer wheel. A flush deletes the row in the transaction that
 * creates the one execution, so only one flush succeeds when several nodes, or a node that was suspended, believe that
 * they own the window.
 */
export class Buffers {
  readonly #parts: BuffersParts;
  readonly #wheel: Deadlines;
  /** By trigger, then by session; both ids are globally unique. */
  readonly #open = new Map<string, Map<string, OpenWindow>>();
  /** Windows that this node is flushing. */
  readonly #flushing = new Set<string>();
  #sweep: Timer | undefined;
  #stopped = false;

  constructor(parts: BuffersParts) {
    this.#parts = parts;
    this.#wheel = new Deadlines(parts.time);
  }

  start(): void {
    this.#sweepLater();
  }

  stop(): void {
    this.#stopped = true;
    this.#sweep?.cancel();
    for (const sessions of this.#open.values()) {
      for (const window of sessions.values()) this.#wheel.remove(window);
    }
    this.#open.clear();
  }

  get waiting(): number {
    return this.#wheel.size;
  }

  /** A message was added to the window, which now ends in `inMs` milliseconds. */
  touched(scope: TenantScope, given: Window, inMs: number, bytes = 0): void {
    if (this.#stopped) return;
    let sessions = this.#open.get(given.triggerId);
    if (sessions === undefined) this.#open.set(given.triggerId, (sessions = new Map()));
    let window = sessions.get(given.sessionId);
    if (window === undefined) {
      window = new OpenWindow(scope, given, this.#expire);
      sessions.set(given.sessionId, window);
    } else this.#wheel.remove(window);
    window.bytes += bytes;
    window.deadlineAtMs = this.#parts.time.monotonicMs() + inMs;
    this.#wheel.add(window);
  }

  /** Called when PostgreSQL reports that the window is full or over. With `isFull` it is certain to be full. */
  flush(scope: TenantScope, { triggerId, sessionId }: Window, isFull: boolean): void {
    if (this.#stopped) return;
    const known = this.#open.get(triggerId)?.get(sessionId);
    if (isFull) this.#remove({ triggerId, sessionId });
    void this.#begin(scope, { triggerId, sessionId }, false, known?.bytes ?? bytesUnknown);
  }

  /**
   * Flushes messages that still wait for a trigger whose buffering was switched off, ahead of the message that arrives
   * now. Never rejects.
   */
  flushOpen(scope: TenantScope, triggerId: string, sessionId: string): Promise<void> | undefined {
    const known = this.#open.get(triggerId)?.get(sessionId);
    if (known === undefined || this.#stopped) return undefined;
    this.#remove(known);
    return this.#begin(scope, known, true, known.bytes);
  }

  #begin(
    scope: TenantScope,
    { triggerId, sessionId }: Window,
    atOnce: boolean,
    bytes: number,
  ): Promise<void> {
    const key = keyOf({ triggerId, sessionId });
    this.#flushing.add(key);
    const flushing = this.#flush(scope, { triggerId, sessionId }, atOnce, bytes).finally(() =>
      this.#flushing.delete(key),
    );
    return flushing.catch((error: unknown) => {
      this.#parts.report('flushing a buffer of a trigger', error);
      this.touched(scope, { triggerId, sessionId }, againMs, bytes);
    });
  }

  async #flush(scope: TenantScope, window: Window, atOnce: boolean, bytes: number): Promise<void> {
    const { flushes, runner } = this.#parts;
    const { item, leftMs } = await flushes.flush(scope, window, atOnce, bytes);
    if (item !== undefined) {
      this.#parts.measures.flushed();
      runner.begin(item);
    }
    // It did not fit into one execution, and the message that arrives now comes behind it.
    if (leftMs !== undefined && atOnce) return this.#flush(scope, window, atOnce, bytes);
    if (leftMs !== undefined) this.touched(scope, window, Math.max(1, Math.ceil(leftMs)), bytes);
  }

  readonly #expire = (window: OpenWindow): void => {
    this.#remove(window);
    void this.#begin(window.scope, window, false, window.bytes);
  };

  #remove({ triggerId, sessionId }: Window): void {
    const sessions = this.#open.get(triggerId);
    const window = sessions?.get(sessionId);
    if (sessions === undefined || window === undefined) return;
    this.#wheel.remove(window);
    sessions.delete(sessionId);
    if (sessions.size === 0) this.#open.delete(triggerId);
  }

  #sweepLater(): void {
    if (this.#stopped) return;
    this.#sweep = this.#parts.time.after(sweepEveryMs, () => {
      void this.#claimWindows().finally(() => this.#sweepLater());
    });
  }

  async #claimWindows(): Promise<void> {
    const { store, scopeOf, report } = this.#parts;
    try {
      let more = true;
      while (more && !this.#stopped) {
        const windows = await store.directory((tx) => claimDueWindows(tx, windowLateMs, windowsMax));
        for (const { tenant_id, trigger_id, session_id, overdue } of windows) {
          // A window that already waits to be flushed here must not be queued twice.
          if (overdue && !this.#flushing.has(keyOf({ triggerId: trigger_id, sessionId: session_id })))
            this.flush(scopeOf(tenant_id), { triggerId: trigger_id, sessionId: session_id }, false);
        }
        // Flush the overdue windows before reading more.
        more = windows.length === windowsMax && windows.every(({ overdue }) => !overdue);
      }
    } catch (error) {
      report('finding buffers whose window has ended', error);
    }
  }
}

function keyOf({ triggerId, sessionId }: Window): string {
  return `${triggerId} ${sessionId}`;
}
