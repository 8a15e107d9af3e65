import { DatabaseError } from './database-error.js';

/**
 * A filter between an untrusted server and the driver. The driver trusts its server: some messages make it read, answer
 * or buffer forever. The stream is cut into messages, each is checked, and the driver gets them one by one, so that it
 * cannot read past the end of any.
 */
export interface Allowance {
  readonly bytes: number;
  readonly rows: number;
  /** The bound of all rows together. */
  readonly fields: number;
}

/** Messages that are not rows: a statement has about ten, a server in distress a few hundred notices. */
const othersMax = 2_000;
const headerBytes = 5;
/** PostgreSQL's own limit for a result. */
const columnsMax = 1_664;

/** The sign-in methods of the driver; a server asks for each once. */
const signInSteps = new Set([0, 3, 5, 10, 11, 12]);

/** The messages of a server to a client that only queries and never copies or replicates. */
const known = new Set(Buffer.from('RKSZTDC123ntENAI'));
const authentication = 0x52; // R
const error = 0x45; // E
const notice = 0x4e; // N
const columns = 0x54; // T
const row = 0x44; // D

export class MessageFilter {
  #held: Buffer[] = [];
  #heldBytes = 0;
  /** The bytes needed for the next step; until then chunks are only collected. */
  #needed = headerBytes;
  #columns = 0;
  readonly #signedIn = new Set<number>();
  #bytesLeft = 0;
  #rowsLeft = 0;
  #fieldsLeft = 0;
  #othersLeft = 0;

  /** Sets how many bytes may arrive, until the next call. */
  allow({ bytes, rows, fields }: Allowance): void {
    this.#bytesLeft = bytes;
    this.#rowsLeft = rows;
    this.#fieldsLeft = fields;
    this.#othersLeft = othersMax;
  }

  /** Yields the whole messages that the chunk completes. Throws `DatabaseError` for a message that is not allowed. */
  *take(chunk: Buffer): Generator<Buffer, void, undefined> {
    this.#bytesLeft -= chunk.length;
    if (this.#bytesLeft < 0) throw tooLarge('bytes');
    this.#held.push(chunk);
    this.#heldBytes += chunk.length;
    if (this.#heldBytes < this.#needed) return;
    const bytes = this.#held.length === 1 ? chunk : Buffer.concat(this.#held);
    let offset = 0;
    let needed = headerBytes;
    while (bytes.length - offset >= headerBytes) {
      if (!known.has(bytes[offset] ?? 0)) throw nonsense();
      const end = offset + 1 + lengthAt(bytes, offset);
      if (end > bytes.length) {
        // Reported immediately, before the collected messages.
        if (end - bytes.length > this.#bytesLeft) throw tooLarge('bytes');
        needed = end - offset;
        break;
      }
      const message = bytes.subarray(offset, end);
      this.#check(message);
      yield message;
      offset = end;
    }
    this.#held = offset === bytes.length ? [] : [bytes.subarray(offset)];
    this.#heldBytes = bytes.length - offset;
    this.#needed = needed;
  }

  #check(message: Buffer): void {
    const kind = message[0];
    if (kind === row) return this.#judgeRow(message);
    this.#othersLeft -= 1;
    if (this.#othersLeft < 0) throw tooLarge('messages');
    if (kind === columns) {
      this.#columns = countIn(message);
      if (this.#columns > columnsMax) throw nonsense();
    } else if (kind === authentication) this.#judgeSignIn(message);
    else if (kind === error || kind === notice) refuseOpenEnd(message);
  }

  #judgeRow(message: Buffer): void {
    const fields = countIn(message);
    if (fields !== this.#columns) throw nonsense();
    this.#rowsLeft -= 1;
    this.#fieldsLeft -= fields;
    if (this.#rowsLeft < 0 || this.#fieldsLeft < 0) throw tooLarge('rows');
  }

  /** Each step costs a hash of many rounds, or an answer: repeated requests would keep the node busy. */
  #judgeSignIn(message: Buffer): void {
    if (message.length < headerBytes + 4) throw nonsense();
    const step = message.readInt32BE(headerBytes);
    if (!signInSteps.has(step)) {
      throw new DatabaseError('bad_answer', 'the server asks for a kind of sign-in other than a password');
    }
    if (this.#signedIn.has(step)) throw nonsense();
    this.#signedIn.add(step);
  }
}

function lengthAt(bytes: Buffer, offset: number): number {
  const length = bytes.readUInt32BE(offset + 1);
  if (length < 4) throw nonsense();
  return length;
}

function countIn(message: Buffer): number {
  if (message.length < headerBytes + 2) throw nonsense();
  return message.readUInt16BE(headerBytes);
}

/** Fields of one letter and a text each, with a NUL after the last: without it the driver would search forever. */
function refuseOpenEnd(message: Buffer): void {
  let offset = headerBytes;
  while (offset < message.length) {
    if (message[offset] === 0) {
      if (offset === message.length - 1) return;
      break;
    }
    const end = message.indexOf(0, offset + 1);
    if (end === -1) break;
    offset = end + 1;
  }
  throw nonsense();
}

function nonsense(): DatabaseError {
  return new DatabaseError('bad_answer', 'the server does not speak the protocol of PostgreSQL');
}

function tooLarge(what: 'bytes' | 'rows' | 'messages'): DatabaseError {
  return new DatabaseError('too_large', `the server answered with more ${what} than may be read at once`);
}
