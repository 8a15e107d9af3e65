// JMESPath expressions that tenants write, applied to documents that come from elsewhere.
import { compile } from '@jmespath-community/jmespath';
import { ExpressionWorker } from './expression-worker.js';

export { ExpressionError, type ExpressionFailure } from './expression-error.js';
export { ownOf, textOf } from './values.js';

export const expressionLengthMax = 1_000;

export interface Expressions {
  /** The JSON value that the expression picks from the document. Throws `ExpressionError`. */
  evaluate(expression: string, document: unknown): Promise<unknown>;
  close(): Promise<void>;
}

export interface ExpressionsOptions {
  /** Of one evaluation. */
  readonly timeoutMs?: number;
  /** Of the result, as JSON. */
  readonly resultCharsMax?: number;
}

export function createExpressions(options: ExpressionsOptions = {}): Expressions {
  const worker = new ExpressionWorker({
    timeoutMs: options.timeoutMs ?? 250,
    resultCharsMax: options.resultCharsMax ?? 1024 * 1024,
    waitingMax: 256,
  });
  return {
    evaluate: (expression, document) => worker.evaluate(expression, document),
    close: () => worker.close(),
  };
}

/** Why the text is no expression; undefined when it is one. */
export function faultOfExpression(text: string): string | undefined {
  if (text.length > expressionLengthMax) return `is longer than ${expressionLengthMax} characters`;
  try {
    compile(text);
    return undefined;
  } catch (error) {
    const reason = error instanceof Error ? error.message.slice(0, 200) : 'it cannot be read';
    return `is no JMESPath expression: ${reason}`;
  }
}
