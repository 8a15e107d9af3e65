/** The sessions of tenants, for every caller: starts and follows turns, reads and controls conversations. */
import type { Reference, Time } from '../../../cluster/index.js';
import type { RunResponse, Turn } from '../../../generated/troupe/actors/v1/session.js';
import type { TenantCaller } from '../../kernel/caller.js';
import { actorOf } from '../../kernel/caller.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { Author } from '../invocation/index.js';
import { PlatformError } from '../../kernel/errors.js';
import type { HotReads, Store } from '../../infra/storage/index.js';
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
import type { SessionRow, StoredInput } from './rows.js';
import { type CompactLog, type LoggedEvent, placeAfter, unfolded } from './turn-log.js';
import { finishedEvents } from './finished-events.js';

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
export interface WantedTurn {
  readonly scope: TenantScope;
  readonly sessionId: string;
  /** An unknown session is refused, not created. */
  readonly mustExist: boolean;
  /** A session that its author did not start is refused like an unknown one. */
  readonly ownSessionsOnly: boolean;
  readonly agentId: string;
  readonly executionId: string;
  readonly channel: string;
  readonly consumerKey: string | undefined;
  readonly consumerDisplayName: string | undefined;
  readonly nameInferred: boolean;
  readonly input: Omit<StoredInput, 'author' | 'deadline_ms' | 'needs_bindings'> & {
    readonly author: Author;
  };
  /** For tools; stored sealed, and only while the turn runs. */
  readonly context: Readonly<Record<string, string | number | boolean>>;
  /** For tools; not stored. */
  readonly bindings: Readonly<Record<string, string | number | boolean>>;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly keyId: string | null;
  readonly userId: string | null;
  readonly triggerId: string | undefined;
  readonly deadlineMs: number;
}

export interface ControlChange {
  readonly kind: 'engaged' | 'suspend' | 'handoff';
  readonly reason: string | undefined;
  readonly expiresInSeconds: number | undefined;
}

/** The longest time that a reader waits for a turn: the queue before it and the turn itself. */
const followMs = 3_600_000;
const controlMs = 15_000;

export class Sessions {
  readonly #parts: SessionsParts;
  readonly #beforeTakeoverIsAnswered: ((scope: TenantScope, sessionId: string) => Promise<void>)[] = [];

  constructor(parts: SessionsParts) {
    this.#parts = parts;
  }

  /** Adds the turn to its session's queue and reads its events. Rejects if the turn is refused. */
  async begin(wanted: WantedTurn, follower: string): Promise<AsyncIterableIterator<RunResponse>> {
    const { scope, sessionId } = wanted;
    const events = this.#parts
      .session(scope.tenantId, sessionId)
      .run({ turn: turnMessage(wanted), after: 0, follower }, { deadlineMs: followMs });
    // Refusals before the first event become HTTP errors; after it they are events.
    const first = await events.next().catch((error: unknown) => {
      throw this.#refusal(error);
    });
    return withFirst(first, events);
  }

  /** The same without reading the events. Durable when it resolves. */
  async accept(wanted: WantedTurn): Promise<void> {
    await this.#translatingRefusals(
      this.#session(wanted.scope, wanted.sessionId).accept(
        { turn: turnMessage(wanted) },
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
  ): AsyncIterableIterator<RunResponse> {
    return this.#session(scope, sessionId).follow({ executionId, after, follower }, { deadlineMs: followMs });
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
  ): Promise<readonly LoggedEvent[] | undefined> {
    return this.#parts.store.inTenant(scope, async (tx) => {
      const execution = await findExecution(scope, tx, executionId);
      if (execution === null || execution.outcome === null) return undefined;
      const log = await findLog(scope, tx, executionId);
      if (log === null) return finishedEvents(execution, after);
      const events = unfolded(log as CompactLog);
      return events.slice(placeAfter(events, after));
    });
  }

  async execution(scope: TenantScope, id: string): Promise<ReadExecution> {
    const found = await this.#parts.store.inTenant(scope, (tx) => findExecution(scope, tx, id));
    if (found === null) throw new PlatformError('not_found', { message: 'The execution was not found.' });
    return found;
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

  async open(
    caller: TenantCaller,
    session: {
      readonly agentId: string;
      readonly consumerKey: string | undefined;
      readonly metadata: Readonly<Record<string, unknown>>;
      readonly channel: string;
      readonly startedBy: Author;
    },
  ): Promise<SessionRow> {
    const { sessionJson } = await this.#translatingRefusals(
      this.#session(caller.scope, this.#parts.newId()).open(
        {
          agentId: session.agentId,
          consumerKey: session.consumerKey ?? '',
          consumerDisplayName: '',
          channel: session.channel,
          metadataJson: JSON.stringify(session.metadata),
          startedByJson: JSON.stringify(session.startedBy),
        },
        { deadlineMs: controlMs },
      ),
    );
    return JSON.parse(sessionJson) as SessionRow;
  }

  /**
   * Registers another path of an agent's answers, for example a channel. It resolves when no answer of the session
   * is in progress there.
   */
  beforeTakeoverIsAnswered(quiet: (scope: TenantScope, sessionId: string) => Promise<void>): void {
    this.#beforeTakeoverIsAnswered.push(quiet);
  }

  async control(caller: TenantCaller, sessionId: string, change: ControlChange): Promise<SessionRow> {
    // Checked first: otherwise any id would activate an actor for a session that does not exist.
    await this.session(caller.scope, sessionId);
    const { sessionJson } = await this.#translatingRefusals(
      this.#session(caller.scope, sessionId).control(
        {
          kind: change.kind,
          reason: change.reason ?? '',
          by: actorOf(caller),
          expiresInSeconds: change.expiresInSeconds ?? 0,
          ifEpoch: 0,
        },
        { deadlineMs: controlMs },
      ),
    );
    if (change.kind !== 'engaged') {
      await Promise.all(this.#beforeTakeoverIsAnswered.map((quiet) => quiet(caller.scope, sessionId)));
    }
    return JSON.parse(sessionJson) as SessionRow;
  }

  /** Cancels the session's running turn, or the named execution. Undefined if there is nothing to cancel. */
  async cancel(
    scope: TenantScope,
    sessionId: string,
    by: string,
    executionId?: string,
  ): Promise<string | undefined> {
    const answer = await this.#translatingRefusals(
      this.#session(scope, sessionId).cancel(
        { by, executionId: executionId ?? '' },
        { deadlineMs: controlMs },
      ),
    );
    return answer.cancelled ? answer.executionId : undefined;
  }

  async append(
    scope: TenantScope,
    sessionId: string,
    message: {
      readonly id: string;
      readonly content: string;
      readonly metadata: Readonly<Record<string, unknown>>;
      readonly mustBeHandedOff: boolean;
      /** Part of the realtime event about the message. */
      readonly writtenBy: string;
      readonly author: Author;
    },
  ): Promise<string> {
    const { createdAt } = await this.#translatingRefusals(
      this.#session(scope, sessionId).append(
        {
          messageId: message.id,
          content: message.content,
          metadataJson: JSON.stringify(message.metadata),
          mustBeHandedOff: message.mustBeHandedOff,
          writtenBy: message.writtenBy,
          authorJson: JSON.stringify(message.author),
        },
        { deadlineMs: controlMs },
      ),
    );
    return createdAt;
  }

  watch(scope: TenantScope, sessionId: string) {
    return this.#session(scope, sessionId).watch({}, { deadlineMs: followMs });
  }

  async erase(caller: TenantCaller, sessionId: string): Promise<void> {
    await this.session(caller.scope, sessionId);
    await this.#translatingRefusals(
      this.#session(caller.scope, sessionId).erase({ by: actorOf(caller) }, { deadlineMs: controlMs }),
    );
  }

  #session({ tenantId }: TenantScope, sessionId: string): Reference<SessionService> {
    return this.#parts.session(tenantId, sessionId);
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

function turnMessage(wanted: WantedTurn): Turn {
  const hasBindings = Object.keys(wanted.bindings).length > 0;
  const input: Omit<StoredInput, 'deadline_ms'> = { ...wanted.input, needs_bindings: hasBindings };
  return {
    executionId: wanted.executionId,
    agentId: wanted.agentId,
    mustExist: wanted.mustExist,
    ownSessionsOnly: wanted.ownSessionsOnly,
    channel: wanted.channel,
    consumerKey: wanted.consumerKey ?? '',
    consumerDisplayName: wanted.consumerDisplayName ?? '',
    nameInferred: wanted.nameInferred,
    inputJson: JSON.stringify(input),
    contextJson: Object.keys(wanted.context).length > 0 ? JSON.stringify(wanted.context) : '',
    bindingsJson: hasBindings ? JSON.stringify(wanted.bindings) : '',
    metadataJson: JSON.stringify(wanted.metadata),
    callerJson: JSON.stringify({ key_id: wanted.keyId, user_id: wanted.userId }),
    triggerId: wanted.triggerId ?? '',
    deadlineMs: wanted.deadlineMs,
  };
}

/** A generator would delay `return` until its next event; a reader that disconnects must be removed at once. */
function withFirst<Item>(
  first: IteratorResult<Item, undefined>,
  rest: AsyncIterableIterator<Item, undefined>,
): AsyncIterableIterator<Item, undefined> {
  let isFirst = true;
  return {
    next() {
      if (!isFirst) return rest.next();
      isFirst = false;
      return Promise.resolve(first);
    },
    return: () => rest.return?.() ?? Promise.resolve({ done: true, value: undefined }),
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
