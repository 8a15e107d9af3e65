import type { CallOrigin } from '../activation/call.js';
import type { Method } from '../activation/method.js';
import type { CallOptions } from '../activation/service.js';
import { numberedRequestId, type RequestId } from '../ids/ids.js';
import type { Target } from './target.js';

/** Properties of a call of this process, over all its attempts. One is created per call, so it has only fields. */
export class Origin implements CallOrigin {
  readonly target: Target;
  readonly method: Method;
  readonly input: unknown;
  readonly deadlineAtMs: number;
  readonly repeatable: boolean;
  readonly traceparent: string | undefined;
  readonly tracestate: string | undefined;
  readonly group: string;
  readonly chain: readonly string[];
  #requestId: RequestId;
  #number: number;

  /** If the caller gave an id, `number` is 0. Otherwise `id` is the node's prefix and `number` completes it. */
  constructor(
    target: Target,
    method: Method,
    input: unknown,
    id: RequestId,
    number: number,
    deadlineAtMs: number,
    options: CallOptions | undefined,
  ) {
    const within = options?.within;
    this.target = target;
    this.method = method;
    this.input = input;
    this.deadlineAtMs = deadlineAtMs;
    this.repeatable = number === 0;
    this.traceparent = options?.traceparent ?? within?.traceparent;
    this.tracestate = options?.tracestate ?? within?.tracestate;
    this.group = options?.group ?? target.address.group;
    this.chain = within === undefined ? noChain : [...within.chain, within.actor];
    this.#requestId = id;
    this.#number = number;
  }

  /** Created on first use: most calls within a process never need it. */
  get requestId(): RequestId {
    if (this.#number > 0) {
      this.#requestId = numberedRequestId(this.#requestId, this.#number);
      this.#number = 0;
    }
    return this.#requestId;
  }
}

const noChain: readonly string[] = [];
