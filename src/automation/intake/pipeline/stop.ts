import type { Ready } from '../../../kernel/ready.js';
import { PlatformError } from '../../../kernel/errors.js';
import { emptyTwiml, json, type Rendered } from '../../outbox/replies/formats.js';
import type { ChannelType } from '../../triggers/config/webhook-config.js';
import type { SenderBlock } from '../../messages/sender-blocks.js';
import type { CheckedMessage } from '../incoming-request.js';

/** A message that a sender block stops, with what is known of it. */
export interface BlockedMessage {
  readonly kind: 'blocked';
  readonly by: SenderBlock;
  readonly incoming: Omit<CheckedMessage, 'query' | 'given'>;
  /** Undefined if the block applies before the question is read, or the message has none. */
  readonly query: string | undefined;
}

export type StopReason =
  /** The whole request is answered with the error. */
  | { readonly kind: 'refused'; readonly error: PlatformError }
  /** This message is answered with the error; others of the same request may be readable. */
  | { readonly kind: 'unreadable'; readonly error: PlatformError }
  /** There is nothing to run. */
  | { readonly kind: 'ignored'; readonly answer: Rendered }
  /** The message came before. Its first answer is undefined while nobody knows it. */
  | { readonly kind: 'repeated'; readonly answer: Rendered | undefined }
  | BlockedMessage;

/** Why a check stops a message. */
export class Stop {
  readonly reason: StopReason;

  constructor(reason: StopReason) {
    this.reason = reason;
  }
}

export function refused(error: PlatformError): Stop {
  return new Stop({ kind: 'refused', error });
}

export function unreadable(error: PlatformError): Stop {
  return new Stop({ kind: 'unreadable', error });
}

/** The error of a check that can only refuse. */
export function errorOf({ reason }: Stop): PlatformError {
  return reason.kind === 'refused' || reason.kind === 'unreadable'
    ? reason.error
    : new PlatformError('internal_error', {
        message: `A check that refuses gave the stop "${reason.kind}".`,
      });
}

/** Acknowledges a channel's notice that holds no message. */
export function nothingToRun(channel: ChannelType | undefined): Stop {
  const answer = channel === 'twilio' ? emptyTwiml : json({ success: true, status: 'ignored' });
  return new Stop({ kind: 'ignored', answer });
}

/**
 * Turns an error of the sender into a stop. An error that passes with time is thrown: it decides nothing about the
 * message.
 */
export function stopAtFault<Found>(
  stopFor: (error: PlatformError) => Stop,
  work: () => Ready<Found>,
): Ready<Found | Stop> {
  const stopped = (error: unknown): Stop => {
    if (error instanceof PlatformError && error.retry === 'never') return stopFor(error);
    throw error;
  };
  try {
    const found = work();
    return found instanceof Promise ? found.catch(stopped) : found;
  } catch (error) {
    return stopped(error);
  }
}
