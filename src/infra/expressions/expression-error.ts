export type ExpressionFailure =
  /** The expression does not fit the document, or is not valid. */
  | 'invalid'
  | 'timeout'
  /** The result, or a value on the way to it, is too large or too deep. */
  | 'too-large';

/** The message may be shown to the author of the expression. */
export class ExpressionError extends Error {
  override readonly name = 'ExpressionError';
  readonly failure: ExpressionFailure;

  constructor(failure: ExpressionFailure, message: string, options?: ErrorOptions) {
    super(message, options);
    this.failure = failure;
  }
}
