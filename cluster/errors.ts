import type { ProcessId } from './ids/ids.js';

/**
 * Every failure that the runtime itself reports. `retry` says whether the same call can succeed later: `never`
 * (change the call), `same` (same request id, at once: nothing is decided yet, or the first answer will be found),
 * `later` (same request id, after a pause). `wire` is frozen: nodes of two versions must read each other's errors.
 */
const kinds = {
  unknown_kind: { wire: 1, retry: 'never', meaning: 'no actor kind of this name is registered' },
  unknown_method: { wire: 2, retry: 'never', meaning: 'the actor kind has no such method' },
  message_too_large: { wire: 3, retry: 'never', meaning: 'a message is above the size limit' },
  bad_message: { wire: 4, retry: 'never', meaning: 'the bytes do not decode to the expected message' },
  protocol_mismatch: { wire: 5, retry: 'never', meaning: 'the peers speak incompatible protocol versions' },
  wrong_secret: { wire: 6, retry: 'never', meaning: 'the peer does not know the cluster secret' },
  wrong_process: { wire: 7, retry: 'later', meaning: 'another process answers at the address of the peer' },
  moved: {
    wire: 8,
    retry: 'later',
    meaning: 'the actor moved to another node more often than hopsMax allows',
  },
  no_owner: { wire: 9, retry: 'later', meaning: 'the view has no worker' },
  not_serving: {
    wire: 10,
    retry: 'later',
    meaning: 'the node is starting, is leaving or has lost its lease',
  },
  overloaded: { wire: 11, retry: 'later', meaning: 'a queue is full' },
  deadline_exceeded: { wire: 12, retry: 'same', meaning: 'the deadline passed; the outcome may be unknown' },
  cancelled: { wire: 13, retry: 'never', meaning: 'the caller cancelled the call' },
  peer_lost: {
    wire: 14,
    retry: 'same',
    meaning: 'the link to the peer was lost; the outcome may be unknown',
  },
  fenced: { wire: 15, retry: 'same', meaning: 'a newer activation of the actor exists' },
  activation_failed: { wire: 16, retry: 'later', meaning: 'the actor failed to load' },
  outcome_unknown: { wire: 17, retry: 'same', meaning: 'a durable write may or may not have been committed' },
  handler_failed: { wire: 18, retry: 'never', meaning: 'the method threw an error without a type' },
  request_conflict: { wire: 19, retry: 'never', meaning: 'a request id was reused with a different payload' },
  protocol_violation: { wire: 20, retry: 'never', meaning: 'a peer violated the link protocol' },
  store_unavailable: { wire: 21, retry: 'later', meaning: 'the durable store does not answer' },
  membership_unavailable: { wire: 22, retry: 'later', meaning: 'the member store does not answer' },
  call_cycle: { wire: 24, retry: 'never', meaning: 'a call came back to a turn that waits for it' },
  write_rejected: {
    wire: 25,
    retry: 'never',
    meaning: 'a durable write violated a rule of the store (a constraint, a check, a value out of range)',
  },
  application: { wire: 23, retry: 'never', meaning: 'an error defined by the actor kind' },
} as const satisfies Record<string, { wire: number; retry: 'never' | 'same' | 'later'; meaning: string }>;

export type ClusterErrorTag = keyof typeof kinds;
export type RetryClass = 'never' | 'same' | 'later';

export interface ClusterErrorDetails {
  readonly cause?: unknown;
  /** Minimum pause before the next try. */
  readonly retryAfterMs?: number;
  /** The peer that the error is about. */
  readonly process?: ProcessId;
  /** No handler has started the call: it may be resent, whatever its method does. */
  readonly notBegun?: boolean;
  /** The peer's address refused the connection: the process is dead, not slow. */
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

/** Thrown by an actor's method. Crosses the wire unchanged; `code` and `detail` are the kind's own. */
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

/** An unknown code from a newer peer reads as a failed handler, which is never retried blindly. */
export function tagOfWireCode(code: number): ClusterErrorTag {
  return tagByWire.get(code) ?? 'handler_failed';
}

export function meaningOf(tag: ClusterErrorTag): string {
  return kinds[tag].meaning;
}

/** Converts what a method threw to an error that can cross the wire. */
export function toClusterError(thrown: unknown, otherwise: ClusterErrorTag = 'handler_failed'): ClusterError {
  if (thrown instanceof ClusterError) return thrown;
  return new ClusterError(otherwise, thrown instanceof Error ? thrown.message : String(thrown), {
    cause: thrown,
  });
}
