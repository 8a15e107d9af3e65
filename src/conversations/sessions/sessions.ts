/** The sessions of tenants, for every caller: starts and follows turns, reads and controls conversations. */
import { type Reference, type Time, within } from '../../../cluster/index.js';
import type { TenantCaller } from '../../kernel/caller.js';
import { actorOf } from '../../kernel/caller.js';
import { type TenantScope, tenantScope } from '../../kernel/tenant-scope.js';
import type { Author, FlatObject } from '../invocation/index.js';
import { PlatformError } from '../../kernel/errors.js';
import type { HotReads, Store } from '../../infra/storage/index.js';
import { recordAudit } from '../../tenancy/audit/index.js';
import { type BegunBy, LargeErasure } from './large-erasure.js';
import type { SessionService } from './parts.js';
import {
  findEnd,
  findExecution,
  findLog,
  findSession,
  type ReadEnd,
  type ReadExecution,
  type ReadSession,
} from './reads.store.js';
import { asPlatformError } from './refusals.js';
import type {
  RequestedControl,
  RequestedDecision,
  RequestedInput,
  RequestedTurn,
  SessionOverview,
  TurnEvents,
  WatchedEvents,
} from './requests.js';
import { type CompactLog, type EventText, unfoldedAfter } from './turn-log.js';
import { finishedEvents } from './finished-events.js';
import { type ReadMessages, readMessages } from './wire/read-messages.js';
import {
  appendedFromWire,
  appendToWire,
  controlToWire,
  openToWire,
  overviewFromWire,
} from './wire/session-requests.js';
import { turnEventsFromWire, watchedEventsFromWire } from './wire/turn-events.js';
import { turnToWire } from './wire/turns.js';

export interface SessionsParts {
  readonly store: Store;
  readonly reads: HotReads;
  readonly session: (tenantId: string, sessionId: string) => Reference<SessionService>;
  readonly time: Time;
  readonly newId: () => string;
  /** Translates failures of the runtime for the caller. */
  readonly refusalOf: (error: unknown) => PlatformError | undefined;
}

/** A turn as a caller submits it. All checks that do not need the session have passed. */
export interface WantedTurn extends RequestedTurn {
  readonly scope: TenantScope;
  readonly sessionId: string;
  readonly input: RequestedInput & { readonly author: Author };
}

export interface ControlChange {
  readonly kind: RequestedControl['change'];
  readonly reason: string | undefined;
  readonly expiresInSeconds: number | undefined;
}

/** The longest time that a reader waits for a turn: the queue before it and the turn itself. */
const followMs = 3_600_000;
const controlMs = 15_000;
/** How long the head of a stream waits for its session. */
const openingMs = 5_000;

/** A stream of a session that can be asked for before it is read. */
export interface Openable<Value> extends AsyncIterableIterator<Value, undefined> {
  /** Rejects if the session refuses the reader, as it does above its limit. */
  opened(): Promise<void>;
}

export class Sessions {
  readonly #parts: SessionsParts;
  readonly #largeErasure: LargeErasure;
  readonly #beforeTakeoverIsAnswered: ((scope: TenantScope, sessionId: string) => Promise<void>)[] = [];

  constructor(parts: SessionsParts) {
    this.#parts = parts;
    this.#largeErasure = new LargeErasure(parts);
  }

  /** Adds the turn to its session's queue and reads its events. Rejects if the turn is refused. */
  async begin(wanted: WantedTurn, follower: string): Promise<AsyncIterableIterator<TurnEvents, undefined>> {
    const { scope, sessionId } = wanted;
    const events = this.#parts
      .session(scope.tenantId, sessionId)
      .run({ turn: turnToWire(wanted), after: 0, follower }, { deadlineMs: followMs });
    const reading = readMessages(events, turnEventsFromWire);
    // Refusals before the first event become HTTP errors; after it they are events.
    await this.#translatingRefusals(reading.arrived());
    return reading;
  }

  /** The same without reading the events. Durable when it resolves. */
  async accept(wanted: WantedTurn): Promise<void> {
    await this.#translatingRefusals(
      this.#session(wanted.scope, wanted.sessionId).accept(
        { turn: turnToWire(wanted) },
        { deadlineMs: controlMs },
      ),
    );
  }

  follow(
    scope: TenantScope,
    sessionId: string,
    executionId: string,
    after: number,
    follower: string,
  ): Openable<TurnEvents> {
    const events = this.#session(scope, sessionId).follow(
      { executionId, after, follower },
      { deadlineMs: followMs },
    );
    return this.#openable(readMessages(events, turnEventsFromWire));
  }

  passed(scope: TenantScope, sessionId: string, follower: string, barrier: number): void {
    this.#session(scope, sessionId)
      .passed({ follower, barrier }, { deadlineMs: controlMs })
      // The session cuts off a reader that does not confirm.
      .catch(() => undefined);
  }

  /** Events of a finished turn after the given one; undefined while it runs. */
  async stored(
    scope: TenantScope,
    executionId: string,
    after: number,
  ): Promise<Iterable<EventText> | undefined> {
    return this.#parts.store.inTenant(scope, async (tx) => {
      const execution = await findExecution(scope, tx, executionId);
      if (execution === null || execution.outcome === null) return undefined;
      const log = await findLog(scope, tx, executionId);
      if (log === null) return finishedEvents(execution, after);
      return unfoldedAfter(log as CompactLog, after);
    });
  }

  async execution(scope: TenantScope, id: string): Promise<ReadExecution> {
    const found = await this.#parts.store.inTenant(scope, (tx) => findExecution(scope, tx, id));
    if (found === null) throw new PlatformError('not_found', { message: 'The execution was not found.' });
    return found;
  }

  /** Undefined if there is no such execution. */
  async known(scope: TenantScope, id: string): Promise<ReadExecution | undefined> {
    return (await this.#parts.store.inTenant(scope, (tx) => findExecution(scope, tx, id))) ?? undefined;
  }

  /** The end of the turn, without an outcome while it runs; undefined before any session has received it. */
  end(scope: TenantScope, executionId: string): Promise<ReadEnd | undefined> {
    return findEnd(this.#parts.reads, scope, executionId);
  }

  async session(scope: TenantScope, id: string): Promise<ReadSession> {
    const found = await this.#parts.store.inTenant(scope, (tx) => findSession(scope, tx, id));
    if (found === null) throw new PlatformError('not_found', { message: 'The session was not found.' });
    return found;
  }

  /** Whether people have taken the session over; false if there is no such session. */
  async isTakenOver(scope: TenantScope, id: string): Promise<boolean> {
    const found = await this.#parts.store.inTenant(scope, (tx) => findSession(scope, tx, id));
    return found !== null && found.control_mode !== 'engaged';
  }

  async open(
    caller: TenantCaller,
    session: {
      /** A random id by default. A fixed one makes a repeated request the same session. */
      readonly id?: string | undefined;
      readonly agentId: string;
      readonly consumerKey: string | undefined;
      readonly metadata: FlatObject;
      readonly channel: string;
      readonly startedBy: Author;
    },
  ): Promise<SessionOverview> {
    const opened = await this.#translatingRefusals(
      this.#session(caller.scope, session.id ?? this.#parts.newId()).open(openToWire(session), {
        deadlineMs: controlMs,
      }),
    );
    return overviewFromWire(opened);
  }

  /**
   * Registers another path of an agent's answers, for example a channel. It resolves when no answer of the session
   * is in progress there.
   */
  beforeTakeoverIsAnswered(quiet: (scope: TenantScope, sessionId: string) => Promise<void>): void {
    this.#beforeTakeoverIsAnswered.push(quiet);
  }

  async control(caller: TenantCaller, sessionId: string, change: ControlChange): Promise<SessionOverview> {
    // Checked first: otherwise any id would activate an actor for a session that does not exist.
    await this.session(caller.scope, sessionId);
    const changed = await this.#translatingRefusals(
      this.#session(caller.scope, sessionId).control(
        controlToWire({
          change: change.kind,
          reason: change.reason,
          by: actorOf(caller),
          expiresInSeconds: change.expiresInSeconds,
          ifEpoch: undefined,
        }),
        { deadlineMs: controlMs },
      ),
    );
    if (change.kind !== 'engaged') {
      await Promise.all(this.#beforeTakeoverIsAnswered.map((quiet) => quiet(caller.scope, sessionId)));
    }
    return overviewFromWire(changed);
  }

  /** Decides on a call of a tool; the turn goes on once all its calls are decided. */
  async decide(scope: TenantScope, sessionId: string, decision: RequestedDecision): Promise<void> {
    await this.#translatingRefusals(
      this.#session(scope, sessionId).decide(decision, { deadlineMs: controlMs }),
    );
  }

  /** Cancels the session's running turn, or the named execution. Undefined if there is nothing to cancel. */
  async cancel(
    scope: TenantScope,
    sessionId: string,
    by: string,
    executionId?: string,
  ): Promise<string | undefined> {
    const answer = await this.#translatingRefusals(
      this.#session(scope, sessionId).cancel({ by, executionId }, { deadlineMs: controlMs }),
    );
    return answer.executionId;
  }

  async append(
    scope: TenantScope,
    sessionId: string,
    message: {
      readonly id: string;
      readonly content: string;
      readonly metadata: FlatObject;
      readonly mustBeHandedOff: boolean;
      /** Part of the realtime event about the message. */
      readonly writtenBy: string;
      readonly author: Author;
    },
  ): Promise<Date> {
    const appended = await this.#translatingRefusals(
      this.#session(scope, sessionId).append(appendToWire(message), { deadlineMs: controlMs }),
    );
    return appendedFromWire(appended);
  }

  watch(scope: TenantScope, sessionId: string): Openable<WatchedEvents> & { cancel(): void } {
    const events = this.#session(scope, sessionId).watch(
      { executionId: '', after: 0, others: undefined },
      { deadlineMs: followMs },
    );
    const reading = this.#openable(readMessages(events, watchedEventsFromWire));
    return Object.assign(reading, { cancel: () => events.cancel() });
  }

  async erase(caller: TenantCaller, sessionId: string): Promise<void> {
    await this.session(caller.scope, sessionId);
    const actor = actorOf(caller);
    // The one entry of the request: with the intent, because its process may end before the request does.
    await this.#erase(caller.scope, {
      sessionId,
      actor,
      begun: (tx) =>
        recordAudit(tx, {
          tenantId: caller.scope.tenantId,
          actor,
          action: 'sessions.erase',
          subject: `session:${sessionId}`,
        }),
    });
  }

  /** For a session that is kept no longer. False, and nothing is erased, if somebody uses it. */
  eraseUnused(scope: TenantScope, sessionId: string, before: Date): Promise<boolean> {
    return this.#largeErasure.ofUnused(scope, { sessionId, before }, async () => {
      const request = { by: 'system', unusedSinceMs: before.getTime() };
      const { erased } = await this.#translatingRefusals(
        this.#session(scope, sessionId).erase(request, { deadlineMs: controlMs }),
      );
      return erased;
    });
  }

  async #erase(scope: TenantScope, by: BegunBy): Promise<boolean> {
    const { sessionId, actor } = by;
    const { erased } = await this.#largeErasure.around(scope, by, () =>
      this.#translatingRefusals(
        this.#session(scope, sessionId).erase({ by: actor }, { deadlineMs: controlMs }),
      ),
    );
    return erased;
  }

  /** Erases one person's part; true if nobody else wrote in the session, so that it is gone. */
  async erasePerson(
    scope: TenantScope,
    sessionId: string,
    consumerKey: string,
    by: string,
  ): Promise<boolean> {
    const { whole } = await this.#largeErasure.ofPerson(scope, { sessionId, consumerKey }, () =>
      this.#translatingRefusals(
        this.#session(scope, sessionId).erasePerson({ consumerKey, by }, { deadlineMs: controlMs }),
      ),
    );
    return whole;
  }

  /** Goes on with an erasure that another process did not end. False if there is none. */
  async finishErasure(): Promise<boolean> {
    const begun = await this.#largeErasure.claim();
    if (begun === undefined) return false;
    const scope = tenantScope(begun.tenant_id);
    await this.#erase(scope, { sessionId: begun.session_id, actor: begun.actor });
    await this.#largeErasure.end(scope, begun.session_id);
    return true;
  }

  #session({ tenantId }: TenantScope, sessionId: string): Reference<SessionService> {
    return this.#parts.session(tenantId, sessionId);
  }

  #openable<Value>(reading: ReadMessages<Value>): Openable<Value> {
    // While the session has no owner nothing answers: the stream begins, and its comments tell that it is open.
    const begun = (): Promise<void> => within(this.#parts.time, openingMs, reading.begun(), () => undefined);
    return Object.assign(reading, { opened: () => this.#translatingRefusals(begun()) });
  }

  async #translatingRefusals<Answer>(answer: Promise<Answer>): Promise<Answer> {
    try {
      return await answer;
    } catch (error) {
      throw this.#refusal(error);
    }
  }

  #refusal(error: unknown): unknown {
    const refusal = asPlatformError(error);
    return refusal === error ? (this.#parts.refusalOf(error) ?? error) : refusal;
  }
}
