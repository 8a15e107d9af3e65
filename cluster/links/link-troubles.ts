import type { ClusterError, ClusterErrorTag } from '../errors.js';
import type { Time } from '../time/time.js';

/** A connection that was closed because of its peer's behaviour. */
export interface LinkTrouble {
  /** host:port of the other end of the connection. */
  readonly peer: string;
  readonly error: ClusterError;
  /** Number of troubles suppressed since the last report, because there were too many. */
  readonly leftOut: number;
}

/** Errors that an operator should see. A lost peer, or another process at its address, is normal. */
const reported: ReadonlySet<ClusterErrorTag> = new Set([
  'protocol_violation',
  'bad_message',
  'message_too_large',
  'wrong_secret',
  'protocol_mismatch',
  'overloaded',
]);

/** Limits reports, so that an unproven peer that keeps connecting does not fill the log. */
const perWindow = 10;
const windowMs = 60_000;

/** Reports troubles of links, at most ten per minute. */
export class LinkTroubles {
  readonly #time: Time;
  readonly #report: (trouble: LinkTrouble) => void;
  #windowEndsAtMs = 0;
  #inWindow = 0;
  #leftOut = 0;

  constructor(time: Time, report: (trouble: LinkTrouble) => void) {
    this.#time = time;
    this.#report = report;
  }

  tell(peer: string, error: ClusterError): void {
    if (!reported.has(error.tag)) return;
    const now = this.#time.monotonicMs();
    if (now >= this.#windowEndsAtMs) {
      this.#windowEndsAtMs = now + windowMs;
      this.#inWindow = 0;
    }
    if (this.#inWindow >= perWindow) {
      this.#leftOut += 1;
      return;
    }
    this.#inWindow += 1;
    const leftOut = this.#leftOut;
    this.#leftOut = 0;
    this.#report({ peer, error, leftOut });
  }
}
