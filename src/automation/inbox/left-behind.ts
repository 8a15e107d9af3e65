import { StoreError } from '../../infra/storage/index.js';
import type { ErrorCode } from '../../kernel/errors.js';
import type { InboxMessage } from '../messages/inbox-message.js';
import type { TurnPort } from '../triggers/ports.js';
import { attemptsMax } from './message-completion.js';
import type { MessageReader } from './message-reader.js';
import type { MessageRows } from './message-rows.js';

export interface LeftBehindParts {
  readonly rows: Pick<MessageRows, 'claimLeftBehind' | 'releaseOwnClaims'>;
  readonly turns: Pick<TurnPort, 'outcomeOf'>;
  readonly reader: Pick<MessageReader, 'claimed' | 'whole'>;
  readonly holdMs: number;
  /** A message that nobody could read for this long is given up. */
  readonly patienceMs: number;
  /** The executions whose messages are in this process's memory. */
  readonly held: () => readonly string[];
  readonly begin: (item: InboxMessage) => void;
  readonly giveUp: (
    item: InboxMessage,
    error: { readonly code: ErrorCode; readonly message: string },
  ) => Promise<void>;
  readonly report: (attempted: string, error: unknown) => void;
}

const claimedMax = 100;

/** Takes up the messages that no process holds any more. */
export class LeftBehind {
  readonly #parts: LeftBehindParts;
  /** Whether rows may be claimed in the name of this process that it does not know, since an answer was lost. */
  #mayHoldUnknown = false;

  constructor(parts: LeftBehindParts) {
    this.#parts = parts;
  }

  mayHoldUnknown(): void {
    this.#mayHoldUnknown = true;
  }

  /** Begins at most `free` messages, each session's in the order of acceptance. */
  async claim(free: number): Promise<void> {
    const room = Math.min(claimedMax, free);
    if (room <= 0) return;
    const { rows, reader, holdMs, held, begin } = this.#parts;
    if (this.#mayHoldUnknown) {
      await rows.releaseOwnClaims(held());
      this.#mayHoldUnknown = false;
    }
    const claimed = await rows.claimLeftBehind(holdMs, room).catch((error: unknown) => {
      this.#mayHoldUnknown = true;
      throw error;
    });
    // The order of an update's rows is that of its plan.
    const items = claimed.toSorted((one, other) => one.seq - other.seq).map((row) => reader.claimed(row));
    const lost = items.filter(({ attempts }) => attempts > attemptsMax);
    for (const item of items) if (!lost.includes(item)) begin(item);
    for (const item of lost) await this.#endOrBegin(item);
  }

  async #endOrBegin(item: InboxMessage): Promise<void> {
    const { turns, reader, begin, giveUp, report } = this.#parts;
    try {
      // If the turn has ended, only its answer is missing from the outbox, so running it again is safe.
      if ((await turns.outcomeOf(item)) !== undefined) return begin(item);
      const whole = await reader.whole(item);
      if (whole === undefined) return;
      await giveUp(whole, {
        code: 'worker_lost',
        message:
          'The processes that ran this message stopped, several times. Send it again, and report it to the operator.',
      });
    } catch (error) {
      // A row that cannot be read must not block the others.
      if (error instanceof StoreError) this.#mayHoldUnknown = true;
      else await this.#giveUpUnread(item);
      report('reading an abandoned inbox message', error);
    }
  }

  /** All later answers of its session wait for the row. An operator has an hour to give a missing key of the vault back. */
  async #giveUpUnread(item: InboxMessage): Promise<void> {
    const { giveUp, patienceMs, report } = this.#parts;
    if (item.ageMs < patienceMs) return;
    await giveUp(item, {
      code: 'internal_error',
      message: 'The stored message cannot be read. Send it again, and report it to the operator.',
    }).catch((error: unknown) => report('giving up an inbox message', error));
  }
}
