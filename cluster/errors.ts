import type { ProcessId } from './ids/ids.js';

/**
 * Every failure that the runtime itself can give. `retry` says whether the same call can succeed later:
 * `never` (mend the call), `same` (the same request id, at once: nothing was decided yet or the first
 * answer will be found), `later` (the same request id, after a pause). `wire` is frozen: nodes of two
 * versions must read each other's errors.
 */
const kinds = {
  unknown_kind: { wire: 1, retry: 'never', meaning: 'no such actor kind is registered' },
  unknown_method: { wire: 2, retry: 'never', meaning: 'the actor kind has no such method' },
  message_too_large: { wire: 3, retry: 'never', meaning: 'a message is above the size limit' },
  bad_message: { wire: 4, retry: 'never', meaning: 'bytes that are not the message they should be' },
  protocol_mismatch: { wire: 5, retry: 'never', meaning: 'the peers speak incompatible protocol versions' },
  wrong_secret: { wire: 6, retry: 'never', meaning: 'the peer does not know the cluster secret' },
  wrong_process: { wire: 7, retry: 'later', meaning: 'another process answers at that address' },
  moved: { wire: 8, retry: 'later', meaning: 'the actor belongs to another node and the hops are used up' },
  no_owner: { wire: 9, retry: 'later', meaning: 'no member of the view takes actors' },
  not_serving: { wire: 10, retry: 'later', meaning: 'the node is starting, leaving or without its lease' },
  overloaded: { wire: 11, retry: 'later', meaning: 'a queue is full' },
  deadline_exceeded: { wire: 12, retry: 'same', meaning: 'the deadline passed; the outcome may be unknown' },
  cancelled: { wire: 13, retry: 'never', meaning: 'the caller gave up' },
  peer_lost: { wire: 14, retry: 'same', meaning: 'the link to the peer broke; the outcome may be unknown' },
  fenced: { wire: 15, retry: 'same', meaning: 'a newer activation of the actor exists' },
  activation_failed: { wire: 16, retry: 'later', meaning: 'the actor could not be loaded' },
  outcome_unknown: { wire: 17, retry: 'same', meaning: 'a durable write may or may not have been made' },
  handler_failed: { wire: 18, retry: 'never', meaning: 'the method threw something untyped' },
  request_conflict: { wire: 19, retry: 'never', meaning: 'a request id was reused for another payload' },
  protocol_violation: { wire: 20, retry: 'never', meaning: 'a peer broke the rules of the link' },
  store_unavailable: { wire: 21, retry: 'later', meaning: 'the durable store does not answer' },
  membership_unavailable: { wire: 22, retry: 'later', meaning: 'the member store does not answer' },
  call_cycle: { wire: 24, retry: 'never', meaning: 'a turn would wait for itself' },
  write_rejected: {
    wire: 25,
    retry: 'never',
    meaning: 'a durable write broke a rule of the store (a constraint, a check, a value out of range)',
  },
  application: { wire: 23, retry: 'never', meaning: 'a typed failure of the actor kind itself' },
} as const satisfies Record<string, { wire: number; retry: 'never' | 'same' | 'later'; meaning: string }>;

export type ClusterErrorTag = keyof typeof kinds;
export type RetryClass = 'never' | 'same' | 'later';

export interface ClusterErrorDetails {
  readonly cause?: unknown;
  /** Least pause before another try. */
  readonly retryAfterMs?: number;
  /** The peer concerned. */
  readonly process?: ProcessId;
  /** No handler has begun the call: it may be sent again whatever it does. */
  readonly notBegun?: boolean;
  /** The address answered that nobody listens: the process is dead, not slow. */
  readonly refused?: boolean;
}

export class ClusterError extends Error {
  override readonly name: string = 'ClusterError';
  readonly tag: ClusterErrorTag;
  readonly retryAfterMs: number | undefined;
  readonly process: ProcessId | undefined;
  readonly notBegun: boolean;
  readonly refused: boolean;

  constructor(tag: ClusterErrorTag, message: string, details: ClusterErrorDetails = {}) {
    super(`${tag}: ${message}`, details.cause === undefined ? undefined : { cause: details.cause });
    this.tag = tag;
    this.retryAfterMs = details.retryAfterMs;
    this.process = details.process;
    this.notBegun = details.notBegun ?? false;
    this.refused = details.refused ?? false;
  }

  get retry(): RetryClass {
    return kinds[this.tag].retry;
  }
}

/** Thrown by an actor's method: crosses the wire as it is, `code` and `detail` being the kind's own. */
export class ActorError extends ClusterError {
  override readonly name = 'ActorError';
  readonly code: string;
  readonly detail: string;
  readonly retryable: boolean;

  constructor(
    code: string,
    message: string,
    options: { detail?: string; retryable?: boolean } & ClusterErrorDetails = {},
  ) {
    super('application', message, options);
    this.code = code;
    this.detail = options.detail ?? '';
    this.retryable = options.retryable ?? false;
  }

  override get retry(): RetryClass {
    return this.retryable ? 'later' : 'never';
  }
}

export const clusterErrorTags: readonly ClusterErrorTag[] = Object.keys(kinds).filter(isTag);

const tagByWire = new Map(clusterErrorTags.map((tag) => [wireCodeOf(tag), tag]));

function isTag(text: string): text is ClusterErrorTag {
  return Object.hasOwn(kinds, text);
}

export function wireCodeOf(tag: ClusterErrorTag): number {
  return kinds[tag].wire;
}

/** A code of a newer peer that this version does not know reads as a failed handler: never retried blindly. */
export function tagOfWireCode(code: number): ClusterErrorTag {
  return tagByWire.get(code) ?? 'handler_failed';
}

export function meaningOf(tag: ClusterErrorTag): string {
  return kinds[tag].meaning;
}

/** What a method threw, as something that can cross the wire. */
export function toClusterError(thrown: unknown, otherwise: ClusterErrorTag = 'handler_failed'): ClusterError {
  if (thrown instanceof ClusterError) return thrown;
  return new ClusterError(otherwise, thrown instanceof Error ? thrown.message : String(thrown), {
    cause: thrown,
  });
}
