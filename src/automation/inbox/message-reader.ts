import type { Ids } from '../../kernel/chance.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { InboxMessage } from '../messages/inbox-message.js';
import type { SenderBlocks } from '../messages/sender-blocks.js';
import { type MessageSealer, merged, work } from '../messages/message-payload.js';
import type { LiveTriggers } from '../triggers/live-triggers.js';
import type { TurnPort } from '../triggers/ports.js';
import { flushKeepMs } from './flush-target.js';
import type { ClaimedRow } from './inbox.store.js';
import type { MessageRows } from './message-rows.js';
import { inFirstTurn, isOfSameSender, workOf } from './one-turn.js';

export interface MessageReaderParts {
  readonly ids: Ids;
  readonly rows: Pick<MessageRows, 'ownParts' | 'splitBuffer'>;
  readonly live: Pick<LiveTriggers, 'get'>;
  readonly senderBlocks: Pick<SenderBlocks, 'isRefused'>;
  readonly turns: Pick<TurnPort, 'isKnown'>;
  readonly seal: MessageSealer;
  readonly scopeOf: (tenantId: string) => TenantScope;
}

/** A message that may run, and the rest of its buffer, which may once the session has it. */
export interface ReadMessage {
  readonly item: InboxMessage;
  readonly rest: InboxMessage | undefined;
}

/** Reads what rows of the inbox ask for. */
export class MessageReader {
  readonly #parts: MessageReaderParts;
  readonly #holdMs: number;

  constructor(parts: MessageReaderParts, holdMs: number) {
    this.#parts = parts;
    this.#holdMs = holdMs;
  }

  /** A claimed message. */
  async read(row: ClaimedRow): Promise<InboxMessage> {
    const place = this.placeOf(row);
    return { ...place, ...(await this.#workOf(place, row.parts)) };
  }

  placeOf(row: ClaimedRow): Omit<InboxMessage, 'work'> {
    return {
      scope: this.#parts.scopeOf(row.tenant_id),
      triggerId: row.trigger_id,
      sessionId: row.session_id,
      executionId: row.execution_id,
      row: { trigger_id: row.trigger_id, key: row.key, seq: row.seq },
      attempts: row.attempts,
      ageMs: row.age_ms,
    };
  }

  /**
   * The message as it is now, and apart from the rest of its buffer. Undefined if it is no longer this process's. The
   * messages of a turn that its session has stay together.
   */
  async again(item: InboxMessage): Promise<ReadMessage | undefined> {
    const { live, rows, seal, senderBlocks } = this.#parts;
    const { scope, row, executionId, triggerId } = item;
    if (row === undefined) return { item, rest: undefined };
    const parts = await rows.ownParts(scope, row, executionId);
    if (parts === undefined) return undefined;
    const trigger = await live.get(triggerId);
    const messages = seal.openEach(scope, parts);
    const first = await inFirstTurn(senderBlocks, scope, trigger?.parsed, messages);
    const joined = { ...item, work: merged(first, trigger?.parsed), isForSeveralTurns: false };
    if (first.length === messages.length || (await this.#isKnown(item)))
      return { item: joined, rest: undefined };
    const restId = this.#parts.ids.uuid();
    const split = await rows.splitBuffer(scope, row, {
      executionId,
      restId,
      isInFirst: (sealed) => {
        const message = seal.open(scope, sealed, work);
        return first.some((one) => isOfSameSender(one, message));
      },
      holdMs: this.#holdMs,
      keepMs: flushKeepMs,
    });
    if (split === undefined) return undefined;
    if (split.rest === undefined) return this.again(item);
    const { key, seq, parts: left } = split.rest;
    const place = {
      executionId: restId,
      row: { trigger_id: row.trigger_id, key, seq },
      attempts: 1,
      ageMs: 0,
    };
    return {
      item: { ...joined, work: merged(seal.openEach(scope, split.first), trigger?.parsed) },
      rest: { ...item, ...place, ...(await this.#workOf(item, left)) },
    };
  }

  /** An attempt before may have handed it to its session. */
  async #isKnown(item: InboxMessage): Promise<boolean> {
    return (item.attempts > 1 || item.ageMs > 0) && this.#parts.turns.isKnown(item);
  }

  async #workOf(
    { scope, triggerId }: Pick<InboxMessage, 'scope' | 'triggerId'>,
    parts: readonly Uint8Array[],
  ): ReturnType<typeof workOf> {
    const { live, seal, senderBlocks } = this.#parts;
    const trigger = await live.get(triggerId);
    return workOf(senderBlocks, scope, trigger?.parsed, seal.openEach(scope, parts));
  }
}
