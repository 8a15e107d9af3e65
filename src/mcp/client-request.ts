import type { TenantCaller } from '../kernel/caller.js';
import type { PlatformError } from '../kernel/errors.js';
import type { Narrowing } from './narrowing.js';

/** One request of a client, after the edge has authenticated and admitted it. */
export interface ClientRequest {
  readonly caller: TenantCaller;
  readonly narrowing: Narrowing;
  readonly requestId: string;
  /** Where a client names its session; it only distinguishes requests of one key. */
  readonly clientSession: string;
  /** What is wrong with the arguments of the tool that it calls. */
  readonly fault?: PlatformError | undefined;
}
