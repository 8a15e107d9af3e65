import type { Method, MessageCodec } from '../activation/method.js';
import { ActorError, ClusterError, tagOfWireCode, wireCodeOf } from '../errors.js';
import type { ActorKind, Epoch } from '../ids/ids.js';
import { encode } from './encoder.js';
import type { Failure } from '../../generated/troupe/cluster/v1/link.js';

/**
 * `routed`: to the owner. `resident`: only to a loaded activation. `release`: answered once there is none.
 * `describe`: asks for the node's description.
 */
export type CallMode = 'routed' | 'resident' | 'release' | 'describe' | 'leave';

/** A call to be sent over a link. */
export interface OutgoingCall {
  readonly mode: CallMode;
  readonly kind: ActorKind;
  /** Undefined for `release` and `describe`. */
  readonly method: Method | undefined;
  readonly group: string;
  readonly key: string;
  readonly body: Uint8Array;
  readonly deadlineMs: number;
  readonly requestId: string;
  readonly repeatable: boolean;
  readonly traceparent: string | undefined;
  readonly tracestate: string | undefined;
  readonly callerGroup: string;
  readonly chain: readonly string[];
  readonly credit: number;
  readonly answer: RemoteAnswer;
}

/** Receives the answer. `reply`, `end` or `fail` is called at most once, and nothing after it. */
export interface RemoteAnswer {
  opened(epoch: Epoch): void;
  /** `epoch` of the activation that answered; 0 if it has none. */
  reply(body: Uint8Array, epoch: Epoch): void;
  item(body: Uint8Array): void;
  end(): void;
  fail(error: ClusterError): void;
}

/** The caller's handle of a call in flight. */
export interface RemoteCall {
  cancel(): void;
  grant(credit: number): void;
}

/** Credit cost of a stream message besides its bytes, so that empty messages cost too. */
export const itemOverheadBytes = 32;

export function encodeMessage(codec: MessageCodec, message: unknown, maxBytes: number): Uint8Array {
  const bytes = encode(codec, message);
  if (bytes.length > maxBytes) {
    throw new ClusterError(
      'message_too_large',
      `a message of ${bytes.length} bytes exceeds the limit of ${maxBytes}`,
    );
  }
  return bytes;
}

export function decodeMessage(codec: MessageCodec, bytes: Uint8Array): unknown {
  try {
    return codec.decode(bytes);
  } catch (error) {
    throw new ClusterError('bad_message', 'the bytes do not decode to the expected message', {
      cause: error,
    });
  }
}

export function failureOf(id: number, error: ClusterError): Failure {
  return {
    id,
    code: wireCodeOf(error.tag),
    // The receiver adds the tag again.
    message: error.message.replace(`${error.tag}: `, ''),
    retryAfterMs: Math.ceil(error.retryAfterMs ?? 0),
    applicationCode: error instanceof ActorError ? error.code : '',
    detail: error instanceof ActorError ? error.detail : '',
    retryable: error instanceof ActorError && error.retryable,
    notBegun: error.notBegun,
  };
}

export function errorOf(failure: Failure): ClusterError {
  const details = {
    notBegun: failure.notBegun,
    ...(failure.retryAfterMs > 0 ? { retryAfterMs: failure.retryAfterMs } : {}),
  };
  const tag = tagOfWireCode(failure.code);
  if (tag !== 'application') return new ClusterError(tag, failure.message, details);
  return new ActorError(failure.applicationCode, failure.message, {
    detail: failure.detail,
    retryable: failure.retryable,
    ...details,
  });
}
