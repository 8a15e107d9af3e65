import ipaddr from 'ipaddr.js';
import type { Time, Timer } from '../../../cluster/index.js';

/** Per IPv4 address, or per IPv6 network of 64 bits: the holder of such a network can use any address in it. */
const connectionsOfOneMax = 20;
/** The longest connection. The limit on silence does not end one whose sender sends a byte now and then. */
const connectionMs = 600_000;
/** Enough for a hundred mails to twenty recipients each. A sender with more mails opens another connection. */
const commandsMax = 2_500;
const mailsMax = 100;
/** A connection that names more unknown recipients is closed, since its sender probably guesses addresses. */
const unknownRecipientsMax = 20;

interface Connection {
  readonly share: string;
  readonly timer: Timer;
  commands: number;
  mails: number;
  unknownRecipients: number;
}

/** Counts what each open connection does, and ends those that exceed a limit. */
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

  /** Returns false if the connection has sent its largest number of mails. */
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

/** The address or network whose connections are counted together. */
export function shareOf(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  if (parsed.kind() === 'ipv4') return parsed.toString();
  return `${parsed.toNormalizedString().split(':').slice(0, 4).join(':')}::/64`;
}
