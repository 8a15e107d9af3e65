import type { ImapFlow } from 'imapflow';
import type { Time, Timer } from '../../../cluster/index.js';

/** Why a mailbox cannot be polled, worded for the trigger's owner. */
export class MailboxError extends Error {
  override readonly name: string = 'MailboxError';
}

/** The server did not finish in time. */
export class SlowMailboxError extends MailboxError {
  override readonly name = 'SlowMailboxError';
}

/** The limits of one piece of work on a connection. */
export interface MailboxBudget {
  readonly ms: number;
  /** Received bytes, as counted on the socket after TLS. */
  readonly bytes: number;
}

/** Between two checks a server can send only what the parser handles in that time, and no more of it is kept. */
const countEveryMs = 50;

/**
 * Runs the work, and closes the connection if it exceeds its time or bytes. The parser bounds each line and literal;
 * this bounds how many of them a server can send.
 */
export async function withinBudget<Result>(
  client: Pick<ImapFlow, 'stats' | 'close'>,
  time: Time,
  { ms, bytes }: MailboxBudget,
  work: () => Promise<Result>,
): Promise<Result> {
  const endsAtMs = time.monotonicMs() + ms;
  const before = client.stats().received;
  let timer: Timer | undefined;
  let fail: (error: MailboxError) => void = () => undefined;
  const exceeded = new Promise<never>((_resolve, reject) => void (fail = reject));
  const count = (): void => {
    const fault = faultOf(client.stats().received - before, time.monotonicMs() >= endsAtMs);
    if (fault === undefined) {
      timer = time.after(Math.min(countEveryMs, ms), count);
      return;
    }
    // Reject first, so that this error is reported instead of the one that the closed connection causes.
    fail(fault);
    client.close();
  };
  const faultOf = (received: number, isLate: boolean): MailboxError | undefined => {
    if (received > bytes) {
      return new MailboxError(`The server of the mailbox sent more than ${bytes} bytes at once.`);
    }
    if (!isLate) return undefined;
    const seconds = Math.round(ms / 100) / 10;
    return new SlowMailboxError(`The server of the mailbox did not finish within ${seconds} seconds.`);
  };
  timer = time.after(Math.min(countEveryMs, ms), count);
  try {
    return await Promise.race([work(), exceeded]);
  } finally {
    timer.cancel();
  }
}
