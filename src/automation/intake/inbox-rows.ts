import type { BatchWriter } from '../../infra/storage/index.js';
import type { Acceptance, AcceptedRow } from '../inbox/accept-target.js';
import { holdMs } from '../inbox/inbox-runner.js';
import type { MessagePayload, MessageSealer } from '../messages/message-payload.js';
import type { Rendered } from '../outbox/replies/formats.js';
import type { Incoming } from './incoming-request.js';
import { headerKeepMs } from './message-key.js';

export interface InboxRowParts {
  readonly inbox: Pick<BatchWriter<AcceptedRow, Acceptance>, 'write'>;
  readonly seal: Pick<MessageSealer, 'seal'>;
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

/** Writes the durable row of a message. */
export class InboxRows {
  readonly #parts: InboxRowParts;

  constructor(parts: InboxRowParts) {
    this.#parts = parts;
  }

  async write(
    { trigger, config, key, executionId, sessionId, hash }: Incoming,
    work: MessagePayload,
    { state, answer, asks }: RowWish,
  ): Promise<WrittenRow> {
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
    return { acceptance: await this.#parts.inbox.write(row), row };
  }
}
