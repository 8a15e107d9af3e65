import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server';
import type { ServerEvent, ServerEventBus } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { agentTopic, draftTopic, seesDrafts } from '../agents/index.js';
import type { RealtimeSubject } from '../conversations/realtime/index.js';
import type { Sessions } from '../conversations/sessions/index.js';
import type { ChangeFeed } from '../infra/storage/index.js';
import type { Time } from '../../cluster/index.js';
import { allows } from '../http/operations/index.js';
import type { TenantCaller } from '../kernel/caller.js';
import { type RowAddress, rowIn, rowUri } from './resources/resources.js';
import type { TurnEnds } from './turn-ends.js';
import type { UnsentFrames } from './unsent-frames.js';
import { WaitingUpdates } from './waiting-updates.js';

/** Addresses that one stream of subscriptions names. */
const addressesMax = 100;

export interface SubscriptionParts {
  readonly realtime: Pick<RealtimeSubject, 'listen'>;
  readonly changes: ChangeFeed;
  readonly turnEnds: TurnEnds;
  readonly sessions: Pick<Sessions, 'execution' | 'session'>;
  readonly time: Pick<Time, 'soon'>;
}

const listenParams = z.object({
  params: z.object({ notifications: z.object({ resourceSubscriptions: z.array(z.string()) }) }),
});

/** The rows that a request for a stream names. Throws a protocol error if there are too many. */
export function rowsNamedIn(body: unknown): readonly RowAddress[] {
  const named = listenParams.safeParse(body);
  const uris = named.success ? named.data.params.notifications.resourceSubscriptions : [];
  if (uris.length > addressesMax) {
    throw new ProtocolError(
      ProtocolErrorCode.InvalidParams,
      `One stream takes at most ${addressesMax} addresses, not ${uris.length}. Open another one for the rest.`,
    );
  }
  return [...new Set(uris)].flatMap((uri) => rowIn(uri) ?? []);
}

/**
 * The changes that a caller may see, as a bus of resource updates. Each stream of subscriptions has a bus of its own, so that a
 * client cannot learn of the rows of another tenant by guessing their ids.
 */
export class TenantChanges implements ServerEventBus {
  readonly #parts: SubscriptionParts;
  readonly #caller: TenantCaller;
  readonly #updates: WaitingUpdates;
  #followed: readonly FollowedSession[] = [];
  #leave: (() => void) | undefined;

  private constructor(parts: SubscriptionParts, caller: TenantCaller, updates: WaitingUpdates) {
    this.#parts = parts;
    this.#caller = caller;
    this.#updates = updates;
    const { role, scope } = caller;
    // Counts the stream among those of the tenant, and refuses one too many.
    this.#leave = parts.realtime.listen(scope, ({ data }) => {
      if (typeof data['session_id'] === 'string') updates.add(rowUri('sessions', data['session_id']));
      if (typeof data['execution_id'] === 'string' && allows(role, 'executions:read'))
        updates.add(rowUri('executions', data['execution_id']));
    });
  }

  /**
   * Resolves once the state is read from which the stream tells changes. The client is told that it is subscribed only
   * then: it may end a turn with its next request, before a later reading. `close` must follow.
   */
  static async open(
    parts: SubscriptionParts,
    caller: TenantCaller,
    rows: readonly RowAddress[],
    unsent: Pick<UnsentFrames, 'taken'>,
  ): Promise<TenantChanges> {
    const ending = rows.filter(({ kind }) => kind !== 'agents');
    parts.turnEnds.admit(caller.scope, ending.length);
    const uris = rows.map(({ kind, id }) => rowUri(kind, id));
    const changes = new TenantChanges(parts, caller, new WaitingUpdates(uris, unsent, parts.time));
    try {
      const followed = await Promise.all(ending.map((row) => followedBy(parts, caller, row)));
      // Others may have taken the room while this one read.
      parts.turnEnds.admit(caller.scope, ending.length);
      changes.#followed = followed.filter((one) => one !== undefined);
      return changes;
    } catch (error) {
      changes.close();
      throw error;
    }
  }

  /** Changes come from the store and the sessions alone, whichever node made them. */
  publish(): void {}

  /** The library refuses some requests before it subscribes, and then ends nothing. */
  close(): void {
    this.#leave?.();
    this.#leave = undefined;
    this.#updates.stop();
  }

  subscribe(listener: (event: ServerEvent) => void): () => void {
    const { changes } = this.#parts;
    const { scope, role } = this.#caller;
    const updates = this.#updates;
    const changed = (uri: string): void => updates.add(uri);
    const topics = seesDrafts(role) ? [agentTopic, draftTopic] : [agentTopic];
    const stopAgents = topics.map((topic) =>
      changes.subscribe(topic, {
        onChange: (change) => {
          if (change.tenantId === scope.tenantId) changed(rowUri('agents', change.subject));
        },
        // The feed does not say which agents changed. A subscriber reads again with its next call.
        onDropEverything: () => undefined,
      }),
    );
    const endings = this.#followed.map((one) => this.#followTurns(one, changed));
    updates.begin((uri) => listener({ kind: 'resource_updated', uri }));
    return () => {
      for (const stop of stopAgents) stop();
      for (const end of endings) end();
      this.close();
    };
  }

  #followTurns(
    { sessionId, turns, executionId }: FollowedSession,
    changed: (uri: string) => void,
  ): () => void {
    const { turnEnds, sessions } = this.#parts;
    const { scope } = this.#caller;
    if (executionId === undefined)
      return turnEnds.follow(scope, { sessionId, turns }, () => changed(rowUri('sessions', sessionId)));
    let isOver = false;
    const ended = (): void => {
      if (!isOver) changed(rowUri('executions', executionId));
    };
    const stop = turnEnds.follow(scope, { sessionId, turns }, (id) => {
      if (id === undefined || id === executionId) ended();
    });
    // It may have ended before the turns of its session were counted.
    sessions.execution(scope, executionId).then(
      ({ outcome }) => {
        if (outcome !== null) ended();
      },
      // The session is followed in any case.
      () => undefined,
    );
    return () => {
      isOver = true;
      stop();
    };
  }
}

/** The session in which turns end that a client wants to hear of. */
interface FollowedSession {
  readonly sessionId: string;
  /** Turns that had ended; undefined if the store was unavailable. */
  readonly turns: number | undefined;
  /** The turn that the client named; undefined if it named the session. */
  readonly executionId: string | undefined;
}

/** Undefined for what does not change any more, is not there, or is not for the caller. */
async function followedBy(
  { sessions }: SubscriptionParts,
  { scope, role }: TenantCaller,
  { kind, id }: RowAddress,
): Promise<FollowedSession | undefined> {
  const turnsOf = async (sessionId: string): Promise<number | undefined> =>
    sessions.session(scope, sessionId).then(
      ({ total_turns: turns }) => turns,
      () => undefined,
    );
  if (kind === 'sessions') return { sessionId: id, turns: await turnsOf(id), executionId: undefined };
  if (!allows(role, 'executions:read')) return undefined;
  // There is no such turn, or the store is unavailable: the client's next read shows which.
  const turn = await sessions.execution(scope, id).catch(() => undefined);
  if (turn === undefined || turn.session_id === null || turn.outcome !== null) return undefined;
  return { sessionId: turn.session_id, turns: await turnsOf(turn.session_id), executionId: id };
}
