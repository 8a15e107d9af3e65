export type ExpressionFailure =
  /** The expression does not fit the document, or is none. */
  | 'invalid'
  | 'timeout'
  /** The result, or what was needed to make it, is larger or deeper than it may be. */
  | 'too-large';

/** The message is fit for whoever wrote the expression. */
export class ExpressionError extends Error {
  override readonly name = 'ExpressionError';
  readonly failure: ExpressionFailure;

  constructor(failure: ExpressionFailure, message: string, options?: ErrorOptions) {
    super(message, options);
    this.failure = failure;
  }
}
