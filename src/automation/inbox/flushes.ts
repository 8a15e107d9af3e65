import type { Ids } from '../../kernel/chance.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { BatchWriter } from '../../infra/storage/index.js';
import { requestsOf, type TriggerConfig } from '../triggers/types/registry.js';
import type { SenderBlocks } from '../messages/sender-blocks.js';
import type { LiveTriggers } from '../triggers/live-triggers.js';
import type { Flushed, FlushRow } from './flush-target.js';
import type { InboxMessage } from '../messages/inbox-message.js';
import type { MessageSealer } from '../messages/message-payload.js';
import { workOf } from './one-turn.js';
import type { Window } from './windows.store.js';

export interface FlushesParts {
  readonly live: Pick<LiveTriggers, 'get'>;
  readonly seal: MessageSealer;
  readonly senderBlocks: Pick<SenderBlocks, 'isRefused'>;
  readonly ids: Ids;
  readonly writer: Pick<BatchWriter<FlushRow, Flushed>, 'write'>;
}

export interface FlushOutcome {
  readonly item: InboxMessage | undefined;
  readonly leftMs: number | undefined;
}

/** The largest integer of PostgreSQL: more messages than any buffer holds. */
const unlimited = 2 ** 31 - 1;

/** Creates the one execution of a buffer. Buffers that end together are flushed in one batch. */
export class Flushes {
  readonly #parts: FlushesParts;

  constructor(parts: FlushesParts) {
    this.#parts = parts;
  }

  /** Returns the message to run, unless another process flushed it, and how long a window of the session stays open. */
  async flush(scope: TenantScope, window: Window, atOnce: boolean, bytes: number): Promise<FlushOutcome> {
    const { live, seal, writer, senderBlocks } = this.#parts;
    const { triggerId, sessionId } = window;
    const trigger = await live.get(triggerId);
    const executionId = this.#parts.ids.uuid();
    const { parts, seq, isBehind, leftMs } = await writer.write({
      tenant_id: scope.tenantId,
      trigger_id: triggerId,
      session_id: sessionId,
      execution_id: executionId,
      at_once: atOnce,
      most: mostOf(trigger?.parsed),
      bytes,
    });
    if (parts.length === 0) return { item: undefined, leftMs };
    const messages = seal.openEach(
      scope,
      parts.map((part) => part.sealed),
    );
    const item = {
      scope,
      triggerId,
      sessionId,
      executionId,
      ...(await workOf(senderBlocks, scope, trigger?.parsed, messages)),
      row: { trigger_id: triggerId, key: `buffer:${executionId}`, seq, isBehind },
      attempts: 1,
      ageMs: 0,
    };
    return { item, leftMs };
  }
}

/** A deleted trigger sets no limit. */
function mostOf(parsed: TriggerConfig | undefined): number {
  return requestsOf(parsed)?.execution.message_buffer.max_messages ?? unlimited;
}
