import { AsyncLocalStorage } from 'node:async_hooks';

/** Where a request comes from, for its audit entries. */
export interface RequestOrigin {
  readonly requestId: string;
  readonly address: string;
}

const current = new AsyncLocalStorage<RequestOrigin>();
let underWay = 0;

/**
 * For operations whose tenant is known only in the middle of their transaction, or that have none: no tenant scope can
 * carry the origin to the entry, and a dozen functions between would pass what they do not use.
 *
 * While it is carried, Node runs a hook for each promise of the process. Once used, the storage keeps these hooks until it
 * is disabled, and they take about 8 % of the CPU of a model call; so it is disabled while no such operation runs.
 */
export function withOrigin<Result>(origin: RequestOrigin, work: () => Result): Result {
  underWay += 1;
  let result: Result;
  try {
    result = current.run(origin, work);
  } catch (error) {
    ended();
    throw error;
  }
  if (result instanceof Promise) result.then(ended, ended);
  else ended();
  return result;
}

function ended(): void {
  underWay -= 1;
  if (underWay === 0) current.disable();
}

/** Undefined outside such an operation. */
export function requestOrigin(): RequestOrigin | undefined {
  return current.getStore();
}
