export type ToolFailure =
  /** The arguments would lead to another address than the one that was written down. */
  | 'refused'
  /** The tool needs something from the context that was not supplied. */
  | 'context-missing'
  /** A secret that it names does not exist, or may not be sent where it would be sent. */
  | 'secret'
  /** The egress rules forbid the address. */
  | 'forbidden-address'
  | 'unreachable'
  | 'timeout'
  /** It answered something that cannot be used. */
  | 'bad-answer'
  /** It answered, and there was no room to pick from the answer what the model is shown. The cause says when. */
  | 'overloaded';

/** Why a tool did not answer, in words that may be told to the model. Holds no secret. */
export class ToolError extends Error {
  override readonly name = 'ToolError';
  readonly failure: ToolFailure;
  /** Whether the call may have arrived all the same. */
  readonly mayHaveArrived: boolean;

  constructor(
    failure: ToolFailure,
    message: string,
    options: { readonly mayHaveArrived?: boolean; readonly cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
    this.failure = failure;
    this.mayHaveArrived = options.mayHaveArrived ?? false;
  }
}
