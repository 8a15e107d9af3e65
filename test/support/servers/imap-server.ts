// A small IMAP server on loopback that speaks the real protocol: one user, one mailbox, as much of RFC 3501 as a client
// needs that looks for news, and IDLE.
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { createServer as createTlsServer, TLSSocket } from 'node:tls';

export interface ImapMail {
  readonly uid: number;
  readonly raw: Buffer;
  readonly arrivedAt: Date;
  readonly flags: Set<string>;
}

/** A command that a client sent. */
export interface ImapCommand {
  readonly tag: string;
  /** In capitals, with `UID` if it has it. */
  readonly name: string;
  readonly given: string;
  readonly socket: Socket;
  /** Answers as the server does by itself. */
  readonly answer: () => void;
}

export interface ImapServer {
  readonly port: number;
  readonly mails: readonly ImapMail[];
  readonly user: string;
  readonly password: string;
  /** The accepted sign-ins. */
  readonly signIns: number;
  /** Connections that are open now. */
  readonly connections: number;
  /** Puts a mail into the mailbox and notifies the listeners. */
  deliver(raw: string, arrivedAt?: Date): ImapMail;
  /** Leaves searches without an answer until set otherwise. */
  silent: boolean;
  /** Searches that wait for their answer. */
  readonly unanswered: number;
  /** Sees each command first; the server answers those for which it returns false. */
  intercept: (command: ImapCommand) => boolean;
  /** Numbers all mails anew, as after a move to another machine. */
  renumber(): void;
  /** As from a backup: with the numbers and mails from before it gave this number. */
  restoreTo(uid: number): void;
  close(): Promise<void>;
}

const months = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ');

/** With `tls` it encrypts from the first byte on, or where a client asks for it. */
export async function startImapServer(
  tls?: { readonly cert: string; readonly key: string },
  begin: 'at once' | 'by STARTTLS' = 'at once',
): Promise<ImapServer> {
  const user = 'desk@hotel.example';
  const password = 'mailbox password';
  let mails: ImapMail[] = [];
  let validity = 1;
  let nextUid = 100;
  let signIns = 0;
  let silent = false;
  let intercept: ImapServer['intercept'] = () => false;
  let unanswered: (() => void)[] = [];
  const sockets = new Set<Socket>();
  const capabilitiesOf = (socket: Socket): string =>
    begin === 'by STARTTLS' && !(socket instanceof TLSSocket) ? 'IMAP4rev1 IDLE STARTTLS' : 'IMAP4rev1 IDLE';
  const serve = (socket: Socket): void => {
    socket.write(`* OK [CAPABILITY ${capabilitiesOf(socket)}] ready\r\n`);
    listen(socket);
  };
  function listen(socket: Socket): void {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
    let rest = '';
    let idleTag = '';
    socket.on('data', (chunk) => {
      rest += chunk.toString('latin1');
      for (let end = rest.indexOf('\r\n'); end !== -1; end = rest.indexOf('\r\n')) {
        const line = rest.slice(0, end);
        rest = rest.slice(end + 2);
        if (line.toUpperCase() === 'DONE') {
          socket.write(`${idleTag} OK done\r\n`);
          continue;
        }
        const [, tag = '', command = '', rest_ = ''] = /^(\S+) (UID \S+|\S+) ?(.*)$/i.exec(line) ?? [];
        if (command.toUpperCase() === 'IDLE') idleTag = tag;
        if (command.toUpperCase() === 'STARTTLS') return encrypt(socket, tag);
        const name = command.toUpperCase();
        const answers = (): void => answer(socket, tag, name, rest_);
        if (!intercept({ tag, name, given: rest_, socket, answer: answers })) answers();
      }
    });
  }
  function encrypt(socket: Socket, tag: string): void {
    socket.removeAllListeners('data');
    sockets.delete(socket);
    socket.write(`${tag} OK begin\r\n`);
    listen(new TLSSocket(socket, { isServer: true, ...tls }));
  }
  const server =
    tls === undefined || begin === 'by STARTTLS' ? createServer(serve) : createTlsServer({ ...tls }, serve);

  function answer(socket: Socket, tag: string, command: string, given: string): void {
    const ok = (...lines: string[]): void => {
      socket.write([...lines, `${tag} OK ${command} completed`].map((line) => `${line}\r\n`).join(''));
    };
    switch (command) {
      case 'CAPABILITY':
        return ok(`* CAPABILITY ${capabilitiesOf(socket)}`);
      case 'LOGIN': {
        if (given.replaceAll('"', '') !== `${user} ${password}`) {
          socket.write(`${tag} NO [AUTHENTICATIONFAILED] no\r\n`);
          return undefined;
        }
        signIns += 1;
        return ok();
      }
      case 'LIST':
      case 'LSUB':
        return ok(`* ${command} () "/" "INBOX"`);
      case 'SELECT':
        return ok(
          '* FLAGS (\\Seen)',
          `* ${mails.length} EXISTS`,
          `* OK [UIDVALIDITY ${validity}] valid`,
          `* OK [UIDNEXT ${nextUid}] next`,
        );
      case 'UID SEARCH': {
        const tell = (): void =>
          ok(`* SEARCH ${[...chosen(given)].map(({ uid }) => uid).join(' ')}`.trimEnd());
        if (silent) return void unanswered.push(tell);
        return tell();
      }
      case 'UID FETCH': {
        for (const mail of chosen(`UID ${given}`)) sendMail(socket, mail, given);
        return ok();
      }
      case 'UID STORE': {
        for (const mail of chosen(`UID ${given}`)) mail.flags.add('\\Seen');
        return ok();
      }
      case 'IDLE':
        socket.write('+ idling\r\n');
        return undefined;
      case 'LOGOUT':
        ok('* BYE');
        return void socket.end();
      default:
        return ok();
    }
  }

  /** By `UID` and a range or list, else all: clients filter older mails. */
  function chosen(given: string): readonly ImapMail[] {
    const [, range] = /UID ([0-9:*,]+)/i.exec(given) ?? [];
    if (range === undefined) return mails;
    const highest = mails.at(-1)?.uid ?? 0;
    const wanted = range.split(',').map((part) => {
      const [from = '', to = from] = part.split(':');
      const ends = [from, to].map((end) => (end === '*' ? highest : Number(end)));
      return { from: Math.min(...ends), to: Math.max(...ends) };
    });
    return mails.filter(({ uid }) => wanted.some(({ from, to }) => uid >= from && uid <= to));
  }

  function sendMail(socket: Socket, mail: ImapMail, given: string): void {
    const { uid, raw, arrivedAt, flags } = mail;
    const items = [`UID ${uid}`, `FLAGS (${[...flags].join(' ')})`];
    if (/RFC822\.SIZE/i.test(given)) items.push(`RFC822.SIZE ${raw.byteLength}`);
    if (/INTERNALDATE/i.test(given)) items.push(`INTERNALDATE "${dateOf(arrivedAt)}"`);
    const head = `* ${mails.indexOf(mail) + 1} FETCH (${items.join(' ')}`;
    if (!/BODY/i.test(given)) return void socket.write(`${head})\r\n`);
    const partial = /<0\.\d+>/.test(given) ? '<0>' : '';
    socket.write(`${head} BODY[]${partial} {${raw.byteLength}}\r\n`);
    socket.write(raw);
    socket.write(')\r\n');
  }

  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server listens on TCP');
  return {
    port: address.port,
    user,
    password,
    get mails() {
      return mails;
    },
    get signIns() {
      return signIns;
    },
    get connections() {
      return sockets.size;
    },
    get silent() {
      return silent;
    },
    set silent(isSilent) {
      silent = isSilent;
      if (isSilent) return;
      for (const tell of unanswered) tell();
      unanswered = [];
    },
    get intercept() {
      return intercept;
    },
    set intercept(own) {
      intercept = own;
    },
    get unanswered() {
      return unanswered.length;
    },
    deliver(raw, arrivedAt = new Date()) {
      const mail = {
        uid: nextUid++,
        raw: Buffer.from(raw.replaceAll(/\r?\n/g, '\r\n')),
        arrivedAt,
        flags: new Set<string>(),
      };
      mails.push(mail);
      for (const socket of sockets) socket.write(`* ${mails.length} EXISTS\r\n`);
      return mail;
    },
    renumber() {
      validity += 1;
      nextUid = 500;
      mails = mails.map((mail) => ({ ...mail, uid: nextUid++ }));
      for (const socket of sockets) socket.destroy();
    },
    restoreTo(uid) {
      nextUid = uid;
      mails = mails.filter((mail) => mail.uid < uid);
      for (const socket of sockets) socket.destroy();
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

function dateOf(date: Date): string {
  const two = (number: number): string => String(number).padStart(2, '0');
  const day = `${two(date.getUTCDate())}-${months[date.getUTCMonth()]}-${date.getUTCFullYear()}`;
  return `${day} ${two(date.getUTCHours())}:${two(date.getUTCMinutes())}:${two(date.getUTCSeconds())} +0000`;
}
