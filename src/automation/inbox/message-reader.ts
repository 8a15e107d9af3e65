import type { Ids } from '../../kernel/chance.js';
import { TaskLimiter } from '../../kernel/task-limiter.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { InboxMessage } from '../messages/inbox-message.js';
import type { SenderBlocks } from '../messages/sender-blocks.js';
import { type MessagePayload, type MessageSealer, merged, work } from '../messages/message-payload.js';
import type { LiveTriggers } from '../triggers/live-triggers.js';
import type { TurnPort } from '../triggers/ports.js';
import { flushKeepMs } from './flush-target.js';
import type { ClaimedRow, OwnMessage } from './inbox.store.js';
import type { MessageRows } from './message-rows.js';
import { inFirstTurn, isOfSameSender, workOf } from './one-turn.js';
import type { WaitingMessage } from './session-lines.js';

/** Payloads that are read at once. Each may be that of a buffer, and takes a connection while it is sent. */
const readsMax = { all: 6, each: 3 };
/** Of a message that is not read. */
const unread: MessagePayload = { message: '', context: {}, requestId: '' };

/** A message that waits for long does so without its payload. */
export function forget(waiting: WaitingMessage): WaitingMessage {
  const { item } = waiting;
  return item.isUnread === true ? waiting : { ...waiting, item: { ...item, work: unread, isUnread: true } };
}

export interface MessageReaderParts {
  readonly ids: Ids;
  readonly rows: Pick<MessageRows, 'ownMessage' | 'splitBuffer'>;
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
  readonly #places = new TaskLimiter(readsMax);

  constructor(parts: MessageReaderParts, holdMs: number) {
    this.#parts = parts;
    this.#holdMs = holdMs;
  }

  /** A claimed message, unread: many may wait, and each may be large. */
  claimed(row: ClaimedRow): InboxMessage {
    return {
      work: unread,
      isUnread: true,
      scope: this.#parts.scopeOf(row.tenant_id),
      triggerId: row.trigger_id,
      sessionId: row.session_id,
      executionId: row.execution_id,
      row: { trigger_id: row.trigger_id, key: row.key, seq: row.seq },
      attempts: row.attempts,
      ageMs: row.age_ms,
    };
  }

  /** With all messages of its buffer, for the case of no turn. Undefined if it is no longer this process's. */
  async whole(item: InboxMessage): Promise<InboxMessage | undefined> {
    const { scope, row, executionId } = item;
    const own = row && (await this.#own(scope, row, executionId, true));
    return own && { ...item, ...(await this.#workOf(item, own.parts)), isUnread: false };
  }

  /**
   * The message as it is now, and apart from the rest of its buffer. Undefined if it is no longer this process's;
   * `behind` if an older message of its session has not reached it. The messages of a turn that its session has stay
   * together.
   */
  async again(item: InboxMessage): Promise<ReadMessage | 'behind' | undefined> {
    const { live, rows, seal, senderBlocks } = this.#parts;
    const { scope, row, executionId, triggerId } = item;
    if (row === undefined) return { item, rest: undefined };
    const own = await this.#own(scope, row, executionId);
    if (own === undefined) return undefined;
    if (own.is_behind) return 'behind';
    const trigger = await live.get(triggerId);
    const messages = seal.openEach(scope, own.parts);
    const first = await inFirstTurn(senderBlocks, scope, trigger?.parsed, messages);
    const joined = {
      ...item,
      work: merged(first, trigger?.parsed),
      isForSeveralTurns: false,
      isUnread: false,
    };
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
      row: { trigger_id: row.trigger_id, key, seq, isBehind: true },
      attempts: 1,
      ageMs: 0,
    };
    return {
      item: { ...joined, work: merged(seal.openEach(scope, split.first), trigger?.parsed) },
      rest: { ...joined, ...place, ...(await this.#workOf(item, left)) },
    };
  }

  #own(
    scope: TenantScope,
    row: NonNullable<InboxMessage['row']>,
    executionId: string,
    inAnyOrder = false,
  ): Promise<OwnMessage | undefined> {
    const { rows } = this.#parts;
    return this.#places.run(scope.tenantId, () => rows.ownMessage(scope, row, executionId, inAnyOrder));
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
