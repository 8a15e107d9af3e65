// Applies tenants' JMESPath expressions to documents from elsewhere.
import type { TenantScope } from '../../kernel/tenant-scope.js';
import { type Sandbox, SandboxError, type SandboxTask } from '../sandbox/index.js';
import type { EvaluateInput, Evaluated } from './evaluate.task.js';
import { ExpressionError } from './expression-error.js';
import { follow, planOf } from './plan.js';

export { ExpressionError, type ExpressionFailure } from './expression-error.js';
export { expressionLengthMax } from './limits.js';
export { ownOf, textOf } from './values.js';

export interface Expressions {
  /**
   * Returns the JSON value that the expression selects from the document. Throws `ExpressionError`, and a `PlatformError`
   * if the node or the tenant has too much to evaluate.
   */
  evaluate(scope: TenantScope, expression: string, document: unknown): Promise<unknown>;
}

export interface ExpressionsOptions {
  /** Per evaluation. */
  readonly timeoutMs?: number;
  /** Maximum size of the result as JSON. */
  readonly resultCharsMax?: number;
}

const timeoutDefaultMs = 250;
const resultCharsDefault = 1024 * 1024;

export function createExpressions(
  sandbox: Pick<Sandbox, 'run'>,
  options: ExpressionsOptions = {},
): Expressions {
  const { timeoutMs = timeoutDefaultMs, resultCharsMax = resultCharsDefault } = options;
  const task: SandboxTask<EvaluateInput, Evaluated> = {
    module: new URL('./evaluate.task.js', import.meta.url),
    timeoutMs,
  };
  return {
    async evaluate(scope, expression, document) {
      const plan = planOf(expression);
      if (plan.kind === 'fault') {
        throw new ExpressionError(plan.failure, `The expression cannot be applied: it ${plan.fault}.`);
      }
      if (plan.kind === 'path') return bounded(follow(plan.steps, document), resultCharsMax);
      try {
        const input = () => ({ expression, document: jsonOf(document), resultCharsMax });
        const outcome = await sandbox.run(scope.tenantId, task, input);
        if ('json' in outcome) return JSON.parse(outcome.json) as unknown;
        throw new ExpressionError(outcome.failure, `The expression cannot be applied: ${outcome.reason}`);
      } catch (cause) {
        throw cause instanceof SandboxError ? failureOf(cause) : cause;
      }
    },
  };
}

/** The problem of the expression; undefined if it is valid. */
export function faultOfExpression(text: string): string | undefined {
  const plan = planOf(text);
  return plan.kind === 'fault' ? plan.fault : undefined;
}

function failureOf(cause: SandboxError): ExpressionError {
  const failure = cause.failure === 'failed' ? 'invalid' : cause.failure;
  return new ExpressionError(failure, `The expression was stopped: ${cause.message}.`, { cause });
}

function bounded(value: unknown, charsMax: number): unknown {
  const chars = typeof value === 'string' ? value.length : jsonOf(value).length;
  if (chars > charsMax) throw new ExpressionError('too-large', 'The result of the expression is too large.');
  return value;
}

function jsonOf(value: unknown): string {
  try {
    return JSON.stringify(value ?? null);
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    throw new ExpressionError('too-large', 'The document is nested too deep.', { cause });
  }
}
