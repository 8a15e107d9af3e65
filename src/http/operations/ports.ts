import type { Caller } from '../../kernel/caller.js';
import type { PlatformError } from '../../kernel/errors.js';
import type { Access } from './access.js';
import type { RateClass } from './operation.js';
import type { RateFigures } from './rate-figures.js';

/** The credentials of one request, as they came. */
export interface Credentials {
  readonly apiKey: string | undefined;
  readonly bearer: string | undefined;
  /** The tenant that the request names, by header or path. */
  readonly tenantId: string | undefined;
  readonly address: string;
  /**
   * The request came from this machine itself: over loopback, and passed on by nobody. Looked at only where
   * `Access.local` makes a difference.
   */
  readonly isLocal?: boolean;
}

/**
 * Turns credentials into a caller, or throws the refusal. Answers without a promise when the credential is in memory,
 * which is nearly always: the pipeline then stays in one tick.
 */
export interface Authenticator {
  authenticate(credentials: Credentials, access: Access): Caller | Promise<Caller>;
}

export type Admitted = {
  readonly figures: RateFigures;
  readonly refusal?: PlatformError;
  /** Of model work that was judged together with the request: spares the second question. */
  readonly ahead?: WorkAhead;
};

/** Model work judged before the request was found to be good; counted if it was admitted. */
export interface WorkAhead {
  readonly admitted: Admitted;
  /** The request was refused after all: it counts as if it had not been judged. */
  takeBack(): void;
}

/** Counts requests. `refusal` is set when a window or quota is used up; `figures` then speak of what refused. */
export interface Admission {
  /**
   * Before the body is read: counts the key's window, or the user's; for model work by a user only looks at the
   * tenant's.
   */
  admitRequest(caller: Caller, rate: RateClass): Admitted | Promise<Admitted>;
  /** After validation, before the handler: counts the tenant's windows and the key's life count. */
  admitModelWork(caller: Caller, ahead?: WorkAhead): Admitted | Promise<Admitted>;
  /** The address window's figures, without lowering them. */
  figuresOfAddress(address: string): RateFigures;
}
