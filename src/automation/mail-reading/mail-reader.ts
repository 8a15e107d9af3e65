import { type Time, type Timer, within } from '../../../cluster/index.js';
import type { LookUpRecords } from '../../infra/egress/index.js';
import { PlatformError } from '../../kernel/errors.js';
import { TaskLimiter } from '../../kernel/task-limiter.js';
import { boundedDns } from './bounded-dns.js';
import {
  type ParsedMail,
  type SenderCheck,
  type SenderVerdict,
  SlowMail,
  UnreadableMail,
} from './parsed-mail.js';
import { ReaderGone, ReaderProcess } from './reader-process.js';

/** Concurrent processes: in total, and per tenant, so that a slow mail delays only its own tenant. */
const processesMax = { all: 3, each: 1 };
/** Mails that wait for a process; the caller holds each in memory. */
const waitingMax = 100;
/** A mail of 10 MB is read in about a second. */
const readMs = 10_000;
/** Additional time for DNS lookups, which have their own limits. */
const checkMs = 10_000;
/** A process starts in a third of a second, on a busy machine in several. */
const startMs = 30_000;
/** The process may have been killed from outside; if it ends twice in a row, the mail is the cause. */
const attemptsMax = 2;
/** Idle processes are ended, so that nodes without mail have none. */
const idleMs = 60_000;

export interface MailReaderParts {
  readonly time: Time;
  /** The resolver for checking senders. */
  readonly lookUp: LookUpRecords;
}

export interface ReadMail {
  readonly mail: ParsedMail;
  readonly verdict: SenderVerdict;
}

/** Reads mails in separate processes, bounded in time and memory, in turn between tenants. */
export class MailReader {
  readonly #parts: MailReaderParts;
  readonly #places = new TaskLimiter(processesMax);
  readonly #idle: ReaderProcess[] = [];
  readonly #all = new Set<ReaderProcess>();
  #idleTimer: Timer | undefined;
  #isClosed = false;

  constructor(parts: MailReaderParts) {
    this.#parts = parts;
  }

  /**
   * Rejects with `UnreadableMail` if the mail is at fault, with `SlowMail` if it may be, otherwise with
   * `service_unavailable`.
   */
  read(tenantId: string, raw: Uint8Array, check?: SenderCheck): Promise<ReadMail> {
    if (this.#isClosed || this.#places.waitingCount >= waitingMax) {
      return Promise.reject(new PlatformError('service_unavailable', { retryAfterSeconds: 10 }));
    }
    return this.#places.run(tenantId, () => this.#read(raw, check));
  }

  close(): void {
    this.#isClosed = true;
    this.#idleTimer?.cancel();
    for (const reader of this.#all) reader.kill();
  }

  async #read(raw: Uint8Array, check: SenderCheck | undefined): Promise<ReadMail> {
    for (let attempt = 1; ; attempt += 1) {
      const reader = await this.#started();
      try {
        return await this.#readWith(reader, raw, check);
      } catch (error) {
        if (!this.#idle.includes(reader)) this.#end(reader);
        if (this.#isClosed) throw new PlatformError('service_unavailable', { cause: error });
        if (!(error instanceof ReaderGone)) throw error;
        if (attempt === attemptsMax) throw new UnreadableMail('The mail needs too much memory to be read.');
      }
    }
  }

  /** The process is reused if it has answered and no part of the mail is left in it. */
  async #readWith(reader: ReaderProcess, raw: Uint8Array, check: SenderCheck | undefined): Promise<ReadMail> {
    const { time, lookUp } = this.#parts;
    const ms = readMs + (check === undefined ? 0 : checkMs);
    const reading = reader.read(raw, check, boundedDns(lookUp, time));
    const outcome = await within(time, ms, reading, () => {
      throw new SlowMail(`The mail takes longer than ${ms / 1_000} seconds to read.`);
    });
    if ('mail' in outcome) {
      this.#keep(reader);
      return outcome;
    }
    if (outcome.spent) this.#end(reader);
    else this.#keep(reader);
    throw new UnreadableMail(outcome.unreadable);
  }

  async #started(): Promise<ReaderProcess> {
    for (let idle = this.#idle.pop(); idle !== undefined; idle = this.#idle.pop()) {
      if (!idle.isGone) return idle;
      this.#all.delete(idle);
    }
    if (this.#isClosed) throw new PlatformError('service_unavailable');
    const reader = new ReaderProcess();
    this.#all.add(reader);
    try {
      await within(this.#parts.time, startMs, reader.ready, () => {
        throw new Error('It did not start in time');
      });
      return reader;
    } catch (cause) {
      this.#end(reader);
      throw new PlatformError('service_unavailable', { cause });
    }
  }

  #keep(reader: ReaderProcess): void {
    this.#idle.push(reader);
    this.#idleTimer?.cancel();
    this.#idleTimer = this.#parts.time.after(idleMs, () => {
      for (const idle of this.#idle.splice(0)) this.#end(idle);
    });
  }

  #end(reader: ReaderProcess): void {
    this.#all.delete(reader);
    reader.kill();
  }
}
