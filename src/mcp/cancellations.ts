import { z } from 'zod';
import { type ChangeFeed, recordChange, type Store } from '../infra/storage/index.js';
import type { ClientRequest } from './client-request.js';
import type { RunningCalls } from './running-calls.js';

/** The subject is the mark of a call: a hash of its client and its id. */
const topic = 'mcp-cancellation';

const cancellation = z.object({
  method: z.literal('notifications/cancelled'),
  params: z.object({ requestId: z.union([z.string(), z.number()]) }),
});

export interface CancellationParts {
  readonly store: Store;
  readonly changes: ChangeFeed;
  readonly running: RunningCalls;
}

/**
 * Cancellations by notification. The notification is a separate request, so it may reach another node than the one that
 * runs the call: then all nodes receive it. That works only for clients that name their session, because the ids of two
 * clients with one key and address are often the same, and the wrong call would end.
 */
export class Cancellations {
  readonly #parts: CancellationParts;
  readonly #unsubscribe: () => void;

  constructor(parts: CancellationParts) {
    this.#parts = parts;
    this.#unsubscribe = parts.changes.subscribe(topic, {
      onChange: ({ tenantId, subject }) => parts.running.cancelMarked(tenantId, subject),
      // A call whose cancellation was missed runs to its end, like one whose client sent none.
      onDropEverything: () => undefined,
    });
  }

  /** Resolves when the call was cancelled here, or the cancellation for all nodes is recorded. */
  async take(client: ClientRequest, body: unknown): Promise<void> {
    const named = cancellation.safeParse(body);
    if (!named.success) return;
    const { requestId: id } = named.data.params;
    const { running, store } = this.#parts;
    if (running.cancel(client, id) || client.clientSession === '') return;
    const { scope } = client.caller;
    const subject = running.markOf(client, id);
    await store.inTenant(scope, (tx) => recordChange(tx, { topic, tenantId: scope.tenantId, subject }));
  }

  stop(): void {
    this.#unsubscribe();
  }
}
