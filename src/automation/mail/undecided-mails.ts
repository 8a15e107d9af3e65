import { z } from 'zod';

/** A mail of a mailbox whose sender is undecided: name servers did not answer when it was read. */
export const undecidedMail = z.object({
  uid: z.number(),
  tries: z.number(),
  /** When it was read first. */
  since_ms: z.number(),
});
export type UndecidedMail = z.output<typeof undecidedMail>;

/**
 * The state of a mailbox keeps at most so many, since a try may take 20 seconds and only one mail of a tenant is read at a
 * time: 11 tries of each take a quarter of the day.
 */
export const undecidedMax = 100;
/** The waits double, so that a failure of a minute delays a mail by about one. */
const firstWaitMs = 60_000;
const longestMs = 86_400_000;
/** New mails go first, but a mailbox in which there are always some does not put off the others for longer than this. */
const putOffMs = 600_000;

/** Whether the mail is to be decided as it is now. */
export function isLastTry({ since_ms: sinceMs }: UndecidedMail, nowMs: number): boolean {
  return nowMs - sinceMs >= longestMs;
}

/** For how long it is due; negative if it is not. */
function dueForMs({ since_ms: sinceMs, tries }: UndecidedMail, nowMs: number): number {
  return nowMs - sinceMs - Math.min(firstWaitMs * (2 ** tries - 1), longestMs);
}

export function isDue(mail: UndecidedMail, nowMs: number): boolean {
  return dueForMs(mail, nowMs) >= 0;
}

export function isPutOff(mail: UndecidedMail, nowMs: number): boolean {
  return dueForMs(mail, nowMs) >= putOffMs;
}
