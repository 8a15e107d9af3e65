export type ToolFailure =
  /** The arguments would change the destination of the request. */
  | 'refused'
  /** The tool needs a value from the context that was not supplied. */
  | 'context-missing'
  /** A secret that the tool names does not exist, or may not be sent to the destination. */
  | 'secret'
  /** The egress rules forbid the address. */
  | 'forbidden-address'
  | 'unreachable'
  | 'timeout'
  /** The answer cannot be used. */
  | 'bad-answer'
  /** The tool answered, but the limit on evaluating expressions was reached. The cause says when to retry. */
  | 'overloaded';

/** The reason why a tool did not answer, in words that the model may be told. Contains no secret. */
export class ToolError extends Error {
  override readonly name = 'ToolError';
  readonly failure: ToolFailure;
  /** Whether the call may have arrived. */
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
