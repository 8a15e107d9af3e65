import type { Caller } from '../../kernel/caller.js';
import type { LeaveSignal } from '../../kernel/leave-signal.js';
import type { OperationRequest } from '../operations/index.js';
import type { Incoming } from './incoming.js';

/** A request as its handler sees it. The abort signal is created only when the handler uses it. */
export class RequestView implements OperationRequest {
  readonly #incoming: Incoming;
  readonly caller: Caller;
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
  readonly rawBody: Uint8Array;

  constructor(
    incoming: Incoming,
    caller: Caller,
    params: unknown,
    query: unknown,
    body: unknown,
    rawBody: Uint8Array,
  ) {
    this.#incoming = incoming;
    this.caller = caller;
    this.params = params;
    this.query = query;
    this.body = body;
    this.rawBody = rawBody;
  }

  get headers(): Readonly<Record<string, string>> {
    return this.#incoming.headers;
  }

  get rawQuery(): string {
    return this.#incoming.exchange.head.query;
  }

  get requestId(): string {
    return this.#incoming.exchange.head.requestId;
  }

  get isHead(): boolean {
    return this.#incoming.exchange.head.method === 'HEAD';
  }

  get signal(): AbortSignal {
    return this.#incoming.exchange.signal;
  }

  get leaving(): LeaveSignal {
    return this.#incoming.exchange.leaving;
  }
}
