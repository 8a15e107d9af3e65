import { actorOf, type TenantCaller } from '../kernel/caller.js';

interface Requester {
  readonly caller: TenantCaller;
  readonly clientSession: string;
}

export interface RunningCall {
  /** Aborts when the client leaves or cancels. */
  readonly signal: AbortSignal;
  end(): void;
}

/**
 * The tool calls that run on this node: bounds those of one credential, and finds the one that a client cancels by a
 * notification, which is a request of its own.
 */
export class RunningCalls {
  readonly callsMax: number;
  readonly #calls = new Map<string, Map<string, Set<AbortController>>>();

  constructor(callsMax: number) {
    this.callsMax = callsMax;
  }

  /** Undefined if the credential runs too many already. */
  begin(requester: Requester, id: string | number, left: AbortSignal): RunningCall | undefined {
    const credential = credentialOf(requester);
    const calls = this.#calls.get(credential) ?? new Map<string, Set<AbortController>>();
    const count = [...calls.values()].reduce((sum, { size }) => sum + size, 0);
    if (count >= this.callsMax) return undefined;
    this.#calls.set(credential, calls);
    const controller = new AbortController();
    const key = keyOf(requester, id);
    const same = calls.get(key) ?? new Set();
    calls.set(key, same.add(controller));
    const leave = (): void => controller.abort();
    if (left.aborted) leave();
    else left.addEventListener('abort', leave, { once: true });
    return {
      signal: controller.signal,
      end: () => {
        left.removeEventListener('abort', leave);
        same.delete(controller);
        if (same.size === 0) calls.delete(key);
        if (calls.size === 0) this.#calls.delete(credential);
      },
    };
  }

  /**
   * Cancels a call by the id of its request. Ids are unique for one client only, so a call is cancelled only if no other
   * client with the same key and address uses the id at this time.
   */
  cancel(requester: Requester, id: string | number): boolean {
    const same = this.#calls.get(credentialOf(requester))?.get(keyOf(requester, id));
    if (same?.size !== 1) return false;
    for (const controller of same) controller.abort();
    return true;
  }
}

function credentialOf({ caller }: Requester): string {
  return `${caller.scope.tenantId} ${actorOf(caller)}`;
}

function keyOf({ caller, clientSession }: Requester, id: string | number): string {
  return JSON.stringify([caller.address, clientSession, id]);
}
