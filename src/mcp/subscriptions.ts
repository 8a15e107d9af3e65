import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server';
import type { ServerEvent, ServerEventBus } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { agentTopic, draftTopic, seesDrafts } from '../agents/index.js';
import type { RealtimeSubject } from '../conversations/realtime/index.js';
import type { Sessions } from '../conversations/sessions/index.js';
import type { ChangeFeed } from '../infra/storage/index.js';
import { allows } from '../http/operations/index.js';
import type { TenantCaller } from '../kernel/caller.js';
import { type RowAddress, rowIn, rowUri } from './resources/resources.js';
import type { TurnEnds } from './turn-ends.js';

/** Addresses that one stream of subscriptions names. */
const addressesMax = 100;

export interface SubscriptionParts {
  readonly realtime: Pick<RealtimeSubject, 'listen'>;
  readonly changes: ChangeFeed;
  readonly turnEnds: TurnEnds;
  readonly sessions: Pick<Sessions, 'execution'>;
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
  readonly #rows: readonly RowAddress[];

  constructor(parts: SubscriptionParts, caller: TenantCaller, rows: readonly RowAddress[]) {
    parts.turnEnds.admit(caller.scope, rows.filter(({ kind }) => kind !== 'agents').length);
    this.#parts = parts;
    this.#caller = caller;
    this.#rows = rows;
  }

  /** Changes come from the store and the sessions alone, whichever node made them. */
  publish(): void {}

  subscribe(listener: (event: ServerEvent) => void): () => void {
    const { realtime, changes } = this.#parts;
    const { scope, role } = this.#caller;
    const changed = (uri: string): void => listener({ kind: 'resource_updated', uri });
    const stopEvents = realtime.listen(scope, ({ data }) => {
      if (typeof data['session_id'] === 'string') changed(rowUri('sessions', data['session_id']));
      if (typeof data['execution_id'] === 'string' && allows(role, 'executions:read'))
        changed(rowUri('executions', data['execution_id']));
    });
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
    const endings = this.#rows.map((row) => this.#followTurns(row, changed));
    return () => {
      stopEvents();
      for (const stop of stopAgents) stop();
      for (const end of endings) end();
    };
  }

  #followTurns({ kind, id }: RowAddress, changed: (uri: string) => void): () => void {
    const { turnEnds } = this.#parts;
    const { scope, role } = this.#caller;
    if (kind === 'sessions') return turnEnds.follow(scope, id, () => changed(rowUri('sessions', id)));
    if (kind === 'executions' && allows(role, 'executions:read')) return this.#followTurn(id, changed);
    return () => undefined;
  }

  /** A turn ends in its session. One that has ended does not change any more. */
  #followTurn(id: string, changed: (uri: string) => void): () => void {
    const { turnEnds, sessions } = this.#parts;
    const { scope } = this.#caller;
    let stop = (): void => undefined;
    let isOver = false;
    sessions.execution(scope, id).then(
      ({ session_id: sessionId, outcome }) => {
        if (isOver || sessionId === null || outcome !== null) return;
        stop = turnEnds.follow(scope, sessionId, (ended) => {
          if (ended === undefined || ended === id) changed(rowUri('executions', id));
        });
      },
      // There is no such turn, or the store is unavailable: the client's next read shows which.
      () => undefined,
    );
    return () => {
      isOver = true;
      stop();
    };
  }
}
