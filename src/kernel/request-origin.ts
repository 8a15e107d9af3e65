import { AsyncLocalStorage } from 'node:async_hooks';

/** Where a request comes from, for its audit entries. */
export interface RequestOrigin {
  readonly requestId: string;
  readonly address: string;
}

const current = new AsyncLocalStorage<RequestOrigin>();

/**
 * For operations whose tenant is known only in the middle of their transaction, or that have none: no tenant scope can
 * carry the origin to the entry, and a dozen functions between would pass what they do not use.
 */
export function withOrigin<Result>(origin: RequestOrigin, work: () => Result): Result {
  return current.run(origin, work);
}

/** Undefined outside such an operation. */
export function requestOrigin(): RequestOrigin | undefined {
  return current.getStore();
}
