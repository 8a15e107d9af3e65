import { FairQueue } from './fair-queue.js';
import { Fifo } from './fifo.js';

/** `turn`: one at a time, in order. `control`: overtakes a running turn (cancel, suspend, status). */
export type Lane = 'turn' | 'control';

export interface Mail {
  readonly lane: Lane;
  /** Whether it is answered by a stream. */
  readonly streams: boolean;
  /** The sender's group; a mailbox with several sending groups serves them in turn. */
  readonly group: string;
  readonly bytes: number;
  /** True once the call was answered while it waited, for example by its deadline or its caller's cancel. */
  readonly ended: boolean;
}

export interface MailboxBounds {
  readonly mailboxCountMax: number;
  readonly mailboxBytesMax: number;
  readonly controlCountMax: number;
  readonly streamCountMax: number;
}

/** Ended messages that a queue may hold beyond the number of those that wait; fewer are not worth a pass over it. */
const endedMax = 16;

/**
 * Bounded by count and by bytes in each lane. The control lane has its own bounds, so that a flood of turns cannot block
 * it, and streams in it are counted apart, so that readers cannot keep out what is answered at once.
 */
export class Mailbox<Item extends Mail> {
  readonly #bounds: MailboxBounds;
  readonly #actorGroup: string;
  readonly #control = new Fifo<Item>();
  readonly #own = new Fifo<Item>();
  /** Created when a group other than the actor's own sends. */
  #mixed: FairQueue<Item> | undefined;
  #turns = 0;
  #controls = 0;
  #streams = 0;
  #turnBytes = 0;
  #controlBytes = 0;
  /** Messages in the queues that ended while they waited. */
  #ended = 0;

  constructor(bounds: MailboxBounds, actorGroup: string) {
    this.#bounds = bounds;
    this.#actorGroup = actorGroup;
  }

  get waiting(): number {
    return this.#turns + this.#controls + this.#streams;
  }

  /** Messages in memory, including those that have ended. */
  get held(): number {
    return this.waiting + this.#ended;
  }

  get bytes(): number {
    return this.#turnBytes + this.#controlBytes;
  }

  /** False if the mailbox is full; the message was then not added. */
  offer(mail: Item): boolean {
    const { controlCountMax, streamCountMax, mailboxCountMax, mailboxBytesMax } = this.#bounds;
    // A single message above the byte bound is accepted; otherwise it could never be handled.
    if (mail.lane === 'control') {
      if (mail.streams ? this.#streams >= streamCountMax : this.#controls >= controlCountMax) return false;
      const isAlone = this.#streams + this.#controls === 0;
      if (!isAlone && this.#controlBytes + mail.bytes > mailboxBytesMax) return false;
      if (mail.streams) this.#streams += 1;
      else this.#controls += 1;
      this.#controlBytes += mail.bytes;
      this.#control.push(mail);
    } else {
      if (this.#turns >= mailboxCountMax) return false;
      if (this.#turns > 0 && this.#turnBytes + mail.bytes > mailboxBytesMax) return false;
      this.#turns += 1;
      this.#turnBytes += mail.bytes;
      this.#pushTurn(mail);
    }
    return true;
  }

  take(lane: Lane): Item | undefined {
    for (;;) {
      const mail = lane === 'control' ? this.#control.shift() : this.#shiftTurn();
      if (mail === undefined) return undefined;
      // A message that ended while it waited was already subtracted from the counts.
      if (mail.ended) {
        this.#ended -= 1;
        continue;
      }
      this.#discount(mail);
      return mail;
    }
  }

  /**
   * Subtracts a message that ended while it waited. `take` skips it; once more than half of the messages have ended, all
   * of those are dropped, so that a long turn does not let them pile up.
   */
  forget(mail: Item): void {
    this.#discount(mail);
    this.#ended += 1;
    if (this.#ended <= this.waiting + endedMax) return;
    const isWaiting = (one: Item): boolean => !one.ended;
    for (const queue of [this.#control, this.#own, this.#mixed]) queue?.retain(isWaiting);
    if (this.#mixed?.size === 0) this.#mixed = undefined;
    this.#ended = 0;
  }

  #discount(mail: Item): void {
    if (mail.lane === 'control') {
      if (mail.streams) this.#streams -= 1;
      else this.#controls -= 1;
      this.#controlBytes -= mail.bytes;
    } else {
      this.#turns -= 1;
      this.#turnBytes -= mail.bytes;
    }
  }

  #pushTurn(mail: Item): void {
    if (this.#mixed === undefined && mail.group === this.#actorGroup) {
      this.#own.push(mail);
      return;
    }
    if (this.#mixed === undefined) {
      this.#mixed = new FairQueue();
      for (let own = this.#own.shift(); own !== undefined; own = this.#own.shift()) {
        this.#mixed.push(own.group, own);
      }
    }
    this.#mixed.push(mail.group, mail);
  }

  #shiftTurn(): Item | undefined {
    if (this.#mixed === undefined) return this.#own.shift();
    const mail = this.#mixed.shift();
    if (this.#mixed.size === 0) this.#mixed = undefined;
    return mail;
  }
}
