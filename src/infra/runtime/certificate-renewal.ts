import type { GrpcTls, RenewableTls, Time } from '../../../cluster/index.js';
import type { Logger } from '../diagnostics/index.js';
import { readTls, type LinkSettings, usableUntil } from './link-protection.js';

/** Renewed files appear in a mounted volume within a minute or two; certificates are renewed weeks before their end. */
const everyMs = 60_000;

export interface RenewalParts {
  readonly settings: LinkSettings;
  readonly tls: RenewableTls;
  readonly time: Time;
  readonly logger: Logger;
}

/**
 * A process may run longer than its certificate is valid. So the files are read again, and links that are opened later use
 * what they hold then. Files that no peer would accept change nothing: the certificate before them may still be valid.
 */
export class CertificateRenewal {
  readonly #parts: RenewalParts;
  /** The files that were refused last, which was told. */
  #refused: GrpcTls | undefined;
  #isUnreadable = false;
  #timer: { cancel(): void } | undefined;
  #isStopped = false;

  constructor(parts: RenewalParts) {
    this.#parts = parts;
  }

  start(): void {
    this.#timer = this.#parts.time.after(everyMs, () => {
      void this.look().finally(() => {
        if (!this.#isStopped) this.start();
      });
    });
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
  }

  /**
   * Never rejects. Tells each failure once. Refused files are examined at each look: a clock that is behind their issuer's, or
   * a stalled machine, refuses what is good a minute later.
   */
  async look(): Promise<void> {
    const { settings, tls, logger } = this.#parts;
    const read = await readTls(settings).catch((error: unknown) => {
      if (!this.#isUnreadable) this.#warn(error);
      this.#isUnreadable = true;
    });
    if (read === undefined) return;
    this.#isUnreadable = false;
    if (isSame(read, tls.current)) {
      this.#refused = undefined;
      return;
    }
    try {
      const until = await usableUntil(settings, read);
      if (this.#isStopped) return;
      tls.renew(read);
      logger.info({ until }, 'the certificate of the links was renewed');
      this.#refused = undefined;
    } catch (error) {
      if (this.#refused === undefined || !isSame(read, this.#refused)) this.#warn(error);
      this.#refused = read;
    }
  }

  #warn(err: unknown): void {
    const message = 'the renewed certificate of the links cannot be used; the former one stays in use';
    this.#parts.logger.warn({ err }, message);
  }
}

function isSame(one: GrpcTls, other: GrpcTls): boolean {
  const names = ['ca', 'cert', 'key'] as const;
  return names.every((name) => Buffer.compare(one[name], other[name]) === 0);
}
