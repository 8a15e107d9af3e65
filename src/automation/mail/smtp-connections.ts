import ipaddr from 'ipaddr.js';
import type { Time, Timer } from '../../../cluster/index.js';

/** Connections per address; in IPv6 per customer network, since a customer has any number of addresses there. */
const connectionsOfOneMax = 20;
/** The time of a whole connection: a sender that sends a byte now and then must release its place too. */
const connectionMs = 600_000;
/** A hundred mails to twenty recipients each. A sender with more opens another connection. */
const commandsMax = 2_500;
const mailsMax = 100;
/** A sender with this many unknown recipients is guessing addresses. */
const unknownRecipientsMax = 20;

interface Connection {
  readonly share: string;
  readonly timer: Timer;
  commands: number;
  mails: number;
  unknownRecipients: number;
}

/** The open connections and what each has used, by id. */
export class SmtpConnections {
  readonly #time: Time;
  readonly #end: (id: string) => void;
  readonly #open = new Map<string, Connection>();

  constructor(time: Time, end: (id: string) => void) {
    this.#time = time;
    this.#end = end;
  }

  /** Returns false if the remote address has too many connections. */
  enter(id: string, remoteAddress: string): boolean {
    const share = shareOf(remoteAddress);
    const ofOne = [...this.#open.values()].filter((one) => one.share === share);
    if (ofOne.length >= connectionsOfOneMax) return false;
    const timer = this.#time.after(connectionMs, () => this.#end(id));
    this.#open.set(id, { share, timer, commands: 0, mails: 0, unknownRecipients: 0 });
    return true;
  }

  leave(id: string): void {
    this.#open.get(id)?.timer.cancel();
    this.#open.delete(id);
  }

  leaveAll(): void {
    for (const id of this.#open.keys()) this.leave(id);
  }

  countCommand(id: string): void {
    const connection = this.#open.get(id);
    if (connection === undefined) return;
    connection.commands += 1;
    if (connection.commands > commandsMax) this.#end(id);
  }

  /** Returns false if the connection has sent enough. */
  countMail(id: string): boolean {
    const connection = this.#open.get(id);
    if (connection === undefined) return false;
    connection.mails += 1;
    return connection.mails <= mailsMax;
  }

  countUnknownRecipient(id: string): void {
    const connection = this.#open.get(id);
    if (connection === undefined) return;
    connection.unknownRecipients += 1;
    if (connection.unknownRecipients > unknownRecipientsMax) this.#end(id);
  }
}

/** The key under which a remote address is counted. */
export function shareOf(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  if (parsed.kind() === 'ipv4') return parsed.toString();
  return `${parsed.toNormalizedString().split(':').slice(0, 4).join(':')}::/64`;
}
