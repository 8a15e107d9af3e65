import { type BatchWriter, type HotReads, StoreError } from '../../infra/storage/index.js';
import type { Acceptance, AcceptedRow } from '../inbox/accept-target.js';
import { holdMs, type InboxRunner } from '../inbox/inbox-runner.js';
import { findByKey } from '../inbox/inbox.store.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { InboxPlace } from '../messages/inbox-message.js';
import type { MessagePayload, MessageSealer } from '../messages/message-payload.js';
import type { Rendered } from '../outbox/replies/formats.js';
import { type Incoming, inboxMessage } from './incoming-request.js';
import { headerKeepMs } from './message-key.js';

export interface InboxRowParts {
  readonly inbox: Pick<BatchWriter<AcceptedRow, Acceptance>, 'write'>;
  readonly reads: Pick<HotReads, 'inTenant'>;
  readonly seal: Pick<MessageSealer, 'seal'>;
  readonly runner: Pick<InboxRunner, 'beginIfAccepted'>;
  /** For messages that came without a key. */
  readonly ownKey: () => string;
}

export interface WrittenRow {
  readonly acceptance: Acceptance;
  readonly row: AcceptedRow;
}

export interface RowWish {
  readonly state: AcceptedRow['state'];
  /** What a repeat of the message is answered with. */
  readonly answer: Rendered | undefined;
  /** Whether to refuse the message if people have taken its session over. */
  readonly asks: boolean;
}

/** The place of an accepted message. */
export function placeOf({ trigger_id, key }: AcceptedRow, { seq, isBehind }: Acceptance): InboxPlace {
  return { trigger_id, key, seq, isBehind };
}

/** Writes the durable row of a message. */
export class InboxRows {
  readonly #parts: InboxRowParts;

  constructor(parts: InboxRowParts) {
    this.#parts = parts;
  }

  async write(
    message: Incoming,
    work: MessagePayload,
    { state, answer, asks }: RowWish,
  ): Promise<WrittenRow> {
    const { trigger, config, key, executionId, sessionId, hash } = message;
    const { scope } = trigger;
    const row: AcceptedRow = {
      tenant_id: scope.tenantId,
      trigger_id: trigger.id,
      key: key?.key ?? this.#parts.ownKey(),
      session_id: sessionId,
      execution_id: state === 'buffered' ? null : executionId,
      state,
      asks,
      payload_hash: hash,
      sealed: this.#parts.seal.seal(scope, work),
      answer: answer === undefined ? null : JSON.stringify(answer),
      hold_ms: state === 'buffered' ? config.execution.message_buffer.window_ms : holdMs,
      keep_ms: key?.keepMs ?? headerKeepMs,
    };
    try {
      return { acceptance: await this.#written(scope, row), row };
    } catch (error) {
      const isUnknown = error instanceof StoreError && error.failure === 'outcome-unknown';
      if (isUnknown && state === 'running')
        this.#parts.runner.beginIfAccepted(inboxMessage(message, work, { ...row, seq: 0 }));
      throw error;
    }
  }

  async #written(scope: TenantScope, row: AcceptedRow): Promise<Acceptance> {
    const acceptance = await this.#parts.inbox.write(row);
    if (acceptance.fate !== 'present') return acceptance;
    try {
      return (await this.#ownAcceptance(scope, row)) ?? acceptance;
    } catch (cause) {
      throw new StoreError('outcome-unknown', 'Accepting a message', { cause });
    }
  }

  /**
   * A batch whose COMMIT answer was lost is written again and finds its own rows. A row with the execution of this
   * request is not a repeat: nobody else would run it before its claim ends.
   */
  async #ownAcceptance(scope: TenantScope, row: AcceptedRow): Promise<Acceptance | undefined> {
    const found = await findByKey(this.#parts.reads, scope, row.trigger_id, row.key);
    if (found === undefined || row.execution_id === null || found.execution_id !== row.execution_id)
      return undefined;
    return { fate: 'accepted', buffered: 0, seq: found.seq, isBehind: true };
  }
}
