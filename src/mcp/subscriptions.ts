import type { ServerEvent, ServerEventBus } from '@modelcontextprotocol/server';
import { agentTopic } from '../agents/index.js';
import type { RealtimeSubject } from '../conversations/realtime/index.js';
import type { ChangeFeed } from '../infra/storage/index.js';
import { allows } from '../http/operations/index.js';
import type { TenantCaller } from '../kernel/caller.js';
import { rowUri } from './resources/resources.js';

export interface SubscriptionParts {
  readonly realtime: Pick<RealtimeSubject, 'listen'>;
  readonly changes: ChangeFeed;
}

/**
 * The changes that a caller may see, as a bus of resource updates. Each stream of subscriptions has a bus of its own, so that a
 * client cannot learn of the rows of another tenant by guessing their ids.
 */
export class TenantChanges implements ServerEventBus {
  readonly #parts: SubscriptionParts;
  readonly #caller: TenantCaller;

  constructor(parts: SubscriptionParts, caller: TenantCaller) {
    this.#parts = parts;
    this.#caller = caller;
  }

  /** Changes come from the store alone, whichever node made them. */
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
    const stopAgents = changes.subscribe(agentTopic, {
      onChange: (change) => {
        if (change.tenantId === scope.tenantId) changed(rowUri('agents', change.subject));
      },
      // The feed does not say which agents changed. A subscriber reads again with its next call.
      onDropEverything: () => undefined,
    });
    return () => {
      stopEvents();
      stopAgents();
    };
  }
}
