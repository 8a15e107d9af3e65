import { FairQueue } from './fair-queue.js';
import { Fifo } from './fifo.js';

/** `turn`: one at a time, in order. `control`: passes a running turn (cancel, suspend, status). */
export type Lane = 'turn' | 'control';

export interface Mail {
  readonly lane: Lane;
  /** Who sent it; a mailbox that several groups write to serves them in turn. */
  readonly group: string;
  readonly bytes: number;
  /** Set once the call is answered, be it by its deadline or its caller's cancel, while it still waits. */
  readonly ended: boolean;
}

export interface MailboxBounds {
  readonly mailboxCountMax: number;
  readonly mailboxBytesMax: number;
  readonly controlCountMax: number;
}

/** Bounded by count and by bytes. The control lane has a bound of its own: a flood of turns cannot close it. */
export class Mailbox<Item extends Mail> {
  readonly #bounds: MailboxBounds;
  readonly #home: string;
  readonly #control = new Fifo<Item>();
  readonly #own = new Fifo<Item>();
  /** Made only when another group than the actor's own writes. */
  #mixed: FairQueue<Item> | undefined;
  #turns = 0;
  #controls = 0;
  #bytes = 0;

  constructor(bounds: MailboxBounds, home: string) {
    this.#bounds = bounds;
    this.#home = home;
  }

  get waiting(): number {
    return this.#turns + this.#controls;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** False when full; nothing was taken then. */
  offer(mail: Item): boolean {
    if (mail.lane === 'control') {
      if (this.#controls >= this.#bounds.controlCountMax) return false;
      this.#controls += 1;
      this.#control.push(mail);
    } else {
      if (this.#turns >= this.#bounds.mailboxCountMax) return false;
      // One message above the bound alone is let in: else it could never be handled.
      if (this.#turns > 0 && this.#bytes + mail.bytes > this.#bounds.mailboxBytesMax) return false;
      this.#turns += 1;
      this.#pushTurn(mail);
    }
    this.#bytes += mail.bytes;
    return true;
  }

  take(lane: Lane): Item | undefined {
    for (;;) {
      const mail = lane === 'control' ? this.#control.shift() : this.#shiftTurn();
      if (mail === undefined) return undefined;
      // What ended while it waited was already taken out of the sums.
      if (mail.ended) continue;
      this.#discount(mail);
      return mail;
    }
  }

  /** Frees the room of a mail that ended while it waited; `take` will pass over it. */
  forget(mail: Item): void {
    this.#discount(mail);
  }

  #discount(mail: Item): void {
    if (mail.lane === 'control') this.#controls -= 1;
    else this.#turns -= 1;
    this.#bytes -= mail.bytes;
  }

  #pushTurn(mail: Item): void {
    if (this.#mixed === undefined && mail.group === this.#home) {
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
