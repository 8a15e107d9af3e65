import { createHash } from 'node:crypto';
import { actorOf, type TenantCaller } from '../kernel/caller.js';

interface Requester {
  readonly caller: TenantCaller;
  readonly clientSession: string;
}

export interface RunningCall {
  /** Aborts when the client leaves or cancels. Created on first use: small calls never use it. */
  readonly signal: AbortSignal;
  end(): void;
}

/**
 * The tool calls that run on this node: bounds those of one credential, and finds the one that a client cancels by a
 * notification, which is a separate request.
 */
export class RunningCalls {
  readonly callsMax: number;
  readonly #credentials = new Map<string, Set<Call>>();

  constructor(callsMax: number) {
    this.callsMax = callsMax;
  }

  /** Undefined if the credential runs too many already. `left` is called only if the call uses its signal. */
  begin(requester: Requester, id: string | number, left: () => AbortSignal): RunningCall | undefined {
    const credential = credentialOf(requester);
    let calls = this.#credentials.get(credential);
    if (calls === undefined) this.#credentials.set(credential, (calls = new Set()));
    else if (calls.size >= this.callsMax) return undefined;
    const running = calls;
    const call = new Call(requester, id, left, () => {
      running.delete(call);
      if (running.size === 0) this.#credentials.delete(credential);
    });
    running.add(call);
    return call;
  }

  /**
   * Cancels a call by the id of its request. Ids are unique for one client only, so a call is cancelled only if no other
   * client with the same key and address uses the id at this time.
   */
  cancel(requester: Requester, id: string | number): boolean {
    const calls = this.#credentials.get(credentialOf(requester)) ?? [];
    const same = [...calls].filter((call) => call.isOf(requester, id));
    const [only] = same;
    if (only === undefined || same.length > 1) return false;
    only.cancel();
    return true;
  }

  /** The id of a call in messages between nodes: a hash that reveals nothing about the client. */
  markOf({ caller, clientSession }: Requester, id: string | number): string {
    const parts = [credentialOf({ caller }), caller.address, clientSession, id];
    return createHash('sha256').update(JSON.stringify(parts)).digest('base64url');
  }

  /** Cancels the call with this mark, if it runs here. Only clients that name a session are distinguished with certainty. */
  cancelMarked(tenantId: string | null, mark: string): void {
    for (const [credential, calls] of this.#credentials) {
      if (!credential.startsWith(`${tenantId} `)) continue;
      for (const call of calls) if (call.clientSession !== '' && call.mark(this) === mark) call.cancel();
    }
  }
}

class Call implements RunningCall {
  readonly #requester: Requester;
  readonly #id: string | number;
  readonly #left: () => AbortSignal;
  readonly #onEnd: () => void;
  #controller: AbortController | undefined;
  #unfollow: (() => void) | undefined;
  #cancelled = false;
  #mark: string | undefined;

  constructor(requester: Requester, id: string | number, left: () => AbortSignal, onEnd: () => void) {
    this.#requester = requester;
    this.#id = id;
    this.#left = left;
    this.#onEnd = onEnd;
  }

  get signal(): AbortSignal {
    if (this.#controller !== undefined) return this.#controller.signal;
    const controller = new AbortController();
    this.#controller = controller;
    const left = this.#left();
    const leave = (): void => controller.abort();
    if (left.aborted || this.#cancelled) leave();
    else left.addEventListener('abort', leave, { once: true });
    this.#unfollow = () => left.removeEventListener('abort', leave);
    return controller.signal;
  }

  get clientSession(): string {
    return this.#requester.clientSession;
  }

  mark(calls: RunningCalls): string {
    return (this.#mark ??= calls.markOf(this.#requester, this.#id));
  }

  isOf({ caller, clientSession }: Requester, id: string | number): boolean {
    const own = this.#requester;
    return own.caller.address === caller.address && own.clientSession === clientSession && this.#id === id;
  }

  cancel(): void {
    this.#cancelled = true;
    this.#controller?.abort();
  }

  end(): void {
    this.#unfollow?.();
    this.#onEnd();
  }
}

function credentialOf({ caller }: Pick<Requester, 'caller'>): string {
  return `${caller.scope.tenantId} ${actorOf(caller)}`;
}
