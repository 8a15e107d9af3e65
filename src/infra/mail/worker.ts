import { z } from 'zod';
import {
  ageMs,
  type Backoff,
  backoffMs,
  type Instant,
  instantOf,
  type Random,
  type Time,
  within,
} from '../../../cluster/index.js';
import type { SealedPlace, Sealer } from '../sealing/index.js';
import type { Store } from '../storage/index.js';
import { claimMails, type DueMail, type MailOutcome, recordOutcome, sweepMails } from './mails.store.js';
import { MailError, type MailTransport, queuedAtOnce, sendWithin } from './transport.js';

/**
 * Sends queued mails at least once. A worker claims a mail for a time, sends it and records the outcome. If it dies in
 * between, another worker claims the mail after that time. So a mail that was sent but not recorded is sent again under
 * the same Message-ID, and none is lost.
 */
/** Longer than an attempt lasts, from the claim to the recorded outcome. */
const heldMs = 180_000;
/** A worker sends no other mail meanwhile, and the mail must not be claimed by another worker while it is being sent. */
const attemptMs = 90_000;
/** The sending of a mail does not begin later than this after its claim: the process was stopped in between. */
const beginWithinMs = 10_000;
/** Mails queued on this node are sent at once; the poll finds those of other nodes. */
const pollMs = 5_000;
const retry: Backoff = { baseMs: 5_000, maxMs: 3_600_000 };
const givenUpAfterMs = 3 * 86_400_000;
const keptMs = 30 * 86_400_000;
const sweepEveryMs = 3_600_000;
const sweptRowsMax = 10_000;
/** How long `close` waits for mails that are being sent. */
const closingMs = 5_000;

export const mailContent = z.object({ subject: z.string(), text: z.string(), html: z.string().optional() });
export type MailContent = z.output<typeof mailContent>;

/** The place that a mail's content is sealed for. */
export function mailPlace(tenantId: string | null, id: string): SealedPlace {
  return ['mail', tenantId ?? 'account', id];
}

export interface MailWorkerParts {
  readonly store: Store;
  readonly sealer: Sealer;
  readonly transport: MailTransport;
  readonly from: () => string;
  readonly time: Time;
  readonly random: Random;
  /** Whether this process may start an outside effect right now. */
  readonly mayAct: () => boolean;
  readonly onProblem: (error: unknown) => void;
}

export class MailWorker {
  readonly #parts: MailWorkerParts;
  readonly #running: Promise<void>;
  #closed = false;
  #woken = false;
  #wake: (() => void) | undefined;
  #sweptAtMs: number;

  constructor(parts: MailWorkerParts) {
    this.#parts = parts;
    this.#sweptAtMs = parts.time.monotonicMs();
    this.#running = this.#run();
  }

  /** Signals that a mail is queued. */
  wake(): void {
    this.#woken = true;
    this.#wake?.();
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.wake();
    const { time, transport } = this.#parts;
    await within(time, closingMs, this.#running, () => undefined);
    await transport.close();
  }

  async #run(): Promise<void> {
    while (!this.#closed) {
      try {
        const claimed = instantOf(this.#parts.time);
        const mails = this.#parts.mayAct() ? await this.#claim() : [];
        await Promise.all(mails.map((mail) => this.#deliver(mail, claimed)));
        if (mails.length > 0) continue;
        await this.#sweep();
      } catch (error) {
        // The store is unavailable; the mails stay queued.
        this.#parts.onProblem(error);
      }
      await this.#pause();
    }
  }

  #claim(): Promise<readonly DueMail[]> {
    return this.#parts.store.directory((tx) => claimMails(tx, heldMs, queuedAtOnce));
  }

  async #deliver(mail: DueMail, claimed: Instant): Promise<void> {
    const { mayAct, time } = this.#parts;
    // Another worker claims it.
    if (!mayAct() || ageMs(time, claimed) >= beginWithinMs) return;
    const outcome = await this.#send(mail);
    await this.#parts.store.directory((tx) => recordOutcome(tx, mail, outcome));
  }

  async #send(mail: DueMail): Promise<MailOutcome> {
    const { sealer, transport, from, time, random, onProblem } = this.#parts;
    try {
      const place = mailPlace(mail.tenant_id, mail.id);
      const content = mailContent.parse(JSON.parse(sealer.open(mail.sealed_content, place).toString()));
      await sendWithin(time, attemptMs, transport, {
        ...content,
        id: mail.id,
        messageId: mail.message_id,
        from: from(),
        to: mail.recipient,
        date: mail.queued_at,
      });
      return { kind: 'sent', at: new Date(time.wallMs()) };
    } catch (error) {
      onProblem(new Error(`mail ${mail.id}, attempt ${mail.attempts}, was not sent`, { cause: error }));
      const reason = error instanceof Error ? error.message : String(error);
      const final = error instanceof MailError && error.final;
      if (final || mail.age_ms > givenUpAfterMs) {
        return { kind: 'given-up', at: new Date(time.wallMs()), error: reason };
      }
      return { kind: 'later', inMs: backoffMs(mail.attempts - 1, retry, random), error: reason };
    }
  }

  async #sweep(): Promise<void> {
    const now = this.#parts.time.monotonicMs();
    if (now - this.#sweptAtMs < sweepEveryMs) return;
    this.#sweptAtMs = now;
    await this.#parts.store.directory((tx) => sweepMails(tx, keptMs, sweptRowsMax));
  }

  /** Waits until `wake` is called or the next poll is due. */
  async #pause(): Promise<void> {
    if (!this.#woken && !this.#closed) {
      await new Promise<void>((resolve) => {
        const timer = this.#parts.time.after(pollMs, resolve);
        this.#wake = () => {
          timer.cancel();
          resolve();
        };
      });
      this.#wake = undefined;
    }
    this.#woken = false;
  }
}
