import type { Caller } from '../../kernel/caller.js';
import type { PlatformError } from '../../kernel/errors.js';
import type { Access } from './access.js';
import type { RateClass } from './operation.js';
import type { RateFigures } from './rate-figures.js';

/** What a page sends to use a public key, unverified. */
export interface PublicKeyUse {
  readonly key: string;
  /** The `Origin` header; empty without one. */
  readonly origin: string;
  readonly address: string;
  /** The `X-Visitor-Secret` header; empty without one. */
  readonly secret: string;
}

/** The unverified credentials of one request. */
export interface Credentials {
  readonly apiKey: string | undefined;
  readonly bearer: string | undefined;
  /** The tenant named in the request, by header or path. */
  readonly tenantId: string | undefined;
  readonly address: string;
  /**
   * True if the request came from this machine, over loopback, to a loopback host and without forwarding headers. Used only
   * if `Access.local` is set.
   */
  readonly isLocal?: boolean;
  /** Set for the operations that take a public key. */
  readonly publicKey?: PublicKeyUse | undefined;
}

/**
 * Maps credentials to a caller, or throws the error. Returns without a promise if the credential is in memory, which is
 * nearly always: the pipeline then stays within one tick.
 */
export interface Authenticator {
  authenticate(credentials: Credentials, access: Access): Caller | Promise<Caller>;
}

export type Admitted = {
  readonly figures: RateFigures;
  readonly refusal?: PlatformError;
  /** Set if the model work was checked together with the request; saves the second check. */
  readonly ahead?: WorkAhead;
};

/** Model work that was checked before the request was validated, and counted if it was admitted. */
export interface WorkAhead {
  readonly admitted: Admitted;
  /** The request was refused later: reverses the count. */
  refund(): void;
}

/** Counts requests. `refusal` is set when a window or quota is used up; `figures` then describe that limit. */
export interface Admission {
  /**
   * Before the body is read: counts the window of the key or the user; for model work by a user, only checks the window
   * of the tenant.
   */
  admitRequest(caller: Caller, rate: RateClass): Admitted | Promise<Admitted>;
  /** After validation, before the handler: counts the tenant's windows and the key's lifetime count. */
  admitModelWork(caller: Caller, ahead?: WorkAhead): Admitted | Promise<Admitted>;
  /**
   * A request for model work that was refused before it was counted as such. A user has a window for these, since no
   * other one counts them; while it is full, `admitRequest` refuses model work of the user.
   */
  noteRefusedWork(caller: Caller, bodyBytes: number): void;
  /** The figures of the address's window, without counting a request. */
  figuresOfAddress(address: string): RateFigures;
}
