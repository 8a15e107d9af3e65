import type { Call } from './call.js';
import type { Lane } from '../mailbox/mailbox.js';
import type { ReplyStream } from '../streams/reply-stream.js';
import type { MethodShape, ServiceShape } from './method.js';

type Decoded<Codec> = Codec extends { decode(...input: never[]): infer Message } ? Message : never;
export type InputOf<Method extends MethodShape> = Decoded<Method['requestType']>;
export type OutputOf<Method extends MethodShape> = Decoded<Method['responseType']>;

/** What an actor implements: a method for each of its service's, answering a message or a stream of them. */
export type Handlers<Service extends ServiceShape> = {
  readonly [Name in keyof Service['methods']]: Service['methods'][Name]['responseStream'] extends true
    ? (
        input: InputOf<Service['methods'][Name]>,
        call: Call,
      ) => AsyncIterable<OutputOf<Service['methods'][Name]>>
    : (
        input: InputOf<Service['methods'][Name]>,
        call: Call,
      ) => OutputOf<Service['methods'][Name]> | Promise<OutputOf<Service['methods'][Name]>>;
};

/** What a caller holds: the same methods, wherever the actor lives. Keeping one costs nothing. */
export type Reference<Service extends ServiceShape> = {
  readonly [Name in keyof Service['methods']]: Service['methods'][Name]['responseStream'] extends true
    ? (
        input: InputOf<Service['methods'][Name]>,
        options?: CallOptions,
      ) => ReplyStream<OutputOf<Service['methods'][Name]>>
    : (
        input: InputOf<Service['methods'][Name]>,
        options?: CallOptions,
      ) => Promise<OutputOf<Service['methods'][Name]>>;
};

export interface CallOptions {
  /** Time until the call must have ended; the default of the settings, and never more than their bound. */
  readonly deadlineMs?: number;
  readonly signal?: AbortSignal;
  /** Names the call over every retry. Given by the outermost caller where a repeat must not act twice. */
  readonly requestId?: string;
  /** W3C trace context. */
  readonly traceparent?: string;
  readonly tracestate?: string;
  /** Whom the call counts for in fair shares; the actor's own group unless said. */
  readonly group?: string;
  /** The call that this one is part of: its deadline, cancel, trace and chain of waiting turns are inherited. */
  readonly within?: Call;
}

/** How one method behaves; what protobuf does not say. */
export interface MethodRules<Input = never, Output = never> {
  /** `control` passes a running turn; `turn`, unless said, runs one at a time. */
  readonly lane?: Lane;
  /**
   * May be sent again after its outcome became unknown: it only reads, or its request id is a unique column
   * of the row that it makes (protocol 5.1).
   */
  readonly idempotent?: boolean;
  /** Where a stream goes on after its owner moved: the request that continues behind the last message seen. */
  resume?(input: Input, last: Output): Input;
}

export type RulesOf<Service extends ServiceShape> = {
  readonly [Name in keyof Service['methods']]?: MethodRules<
    InputOf<Service['methods'][Name]>,
    OutputOf<Service['methods'][Name]>
  >;
};
