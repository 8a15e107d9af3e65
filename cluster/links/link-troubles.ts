import type { ClusterError, ClusterErrorTag } from '../errors.js';
import type { Time } from '../time/time.js';

/** A connection that was closed for what its other end did. */
export interface LinkTrouble {
  /** host:port of the other end of the connection. */
  readonly peer: string;
  readonly error: ClusterError;
  /** Troubles since the last that was told, left out since there were too many. */
  readonly leftOut: number;
}

/** What somebody must look at. A peer that is gone, or another process at its address, is daily life. */
const told: ReadonlySet<ClusterErrorTag> = new Set([
  'protocol_violation',
  'bad_message',
  'message_too_large',
  'wrong_secret',
  'protocol_mismatch',
  'overloaded',
]);

/** A stranger that connects again and again must not fill the log. */
const perWindow = 10;
const windowMs = 60_000;

/** Tells of links that were closed for a reason, so many in a minute and no more. */
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
    if (!told.has(error.tag)) return;
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
