import type { Call } from './call.js';
import type { Lane } from '../mailbox/mailbox.js';
import type { ReplyStream } from '../streams/reply-stream.js';
import type { MethodShape, ServiceShape } from './method.js';

type Decoded<Codec> = Codec extends { decode(...input: never[]): infer Message } ? Message : never;
export type InputOf<Method extends MethodShape> = Decoded<Method['requestType']>;
export type OutputOf<Method extends MethodShape> = Decoded<Method['responseType']>;

/** What an actor implements: a handler for each method of its service, returning one message or a stream. */
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

/** What a caller holds: the same methods, wherever the actor lives. One small object. */
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
  /** Time until the call must have ended. Defaults to `callDeadlineMs`, capped at `callDeadlineMaxMs`. */
  readonly deadlineMs?: number;
  readonly signal?: AbortSignal;
  /** Identifies the call over every retry. Set by the outermost caller where a repeat must not act twice. */
  readonly requestId?: string;
  /** W3C trace context. */
  readonly traceparent?: string;
  readonly tracestate?: string;
  /** The group whose fair share the call uses; defaults to the actor's own group. */
  readonly group?: string;
  /** The call that this one is part of. Its deadline, cancel, trace and chain of waiting turns are inherited. */
  readonly within?: Call;
}

/** Rules of one method that protobuf cannot express. */
export interface MethodRules<Input = never, Output = never> {
  /** `control` overtakes a running turn; `turn`, the default, runs one at a time. */
  readonly lane?: Lane;
  /**
   * May be resent after its outcome became unknown: the method only reads, or its request id is a unique column of
   * the row that it writes (protocol 5.1).
   */
  readonly idempotent?: boolean;
  /** The request that continues a stream after the last message received, used when the owner moved. */
  resume?(input: Input, last: Output): Input;
}

export type RulesOf<Service extends ServiceShape> = {
  readonly [Name in keyof Service['methods']]?: MethodRules<
    InputOf<Service['methods'][Name]>,
    OutputOf<Service['methods'][Name]>
  >;
};
