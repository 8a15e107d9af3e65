import { type Ready, whenReady } from '../../kernel/ready.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import { PlatformError } from '../../kernel/errors.js';
import { ExpressionError, type Expressions, textOf } from '../../infra/expressions/index.js';
import type { QueryExtraction } from '../triggers/config/webhook-config.js';
import { FillBudget, fillText, valueAt } from '../triggers/templates.js';
import { storableText } from '../../kernel/storable-text.js';

/** The upper bound of a message's length. */
const queryCharsMax = 200_000;

/** Extracts the question for the agent from the payload; throws `no_message` if there is none and must be one. */
export function queryOf(
  scope: TenantScope,
  extraction: QueryExtraction,
  payload: unknown,
  expressions: Pick<Expressions, 'evaluate'>,
  mayBeEmpty = false,
): Ready<string> {
  return whenReady(extracted(scope, extraction, payload, expressions), (value) =>
    // A literal of an expression may hold NUL.
    bounded(extraction, storableText(textOf(value)), mayBeEmpty),
  );
}

function bounded(extraction: QueryExtraction, found: string, mayBeEmpty: boolean): string {
  if (found.trim() === '' && mayBeEmpty) return '';
  if (found.trim() === '') throw noQuery(extraction, 'holds no message');
  if (found.length > queryCharsMax) {
    throw noQuery(extraction, `gives a message of more than ${queryCharsMax} characters`);
  }
  return found;
}

function extracted(
  scope: TenantScope,
  extraction: QueryExtraction,
  payload: unknown,
  expressions: Pick<Expressions, 'evaluate'>,
): unknown {
  switch (extraction.mode) {
    case 'field':
      return valueAt(payload, extraction.field);
    case 'template':
      return fillText(extraction.template, payload, undefined, new FillBudget(queryCharsMax));
    case 'full_body':
      return payload;
    case 'jmespath':
      return evaluated(scope, extraction, payload, expressions);
  }
}

async function evaluated(
  scope: TenantScope,
  extraction: Extract<QueryExtraction, { mode: 'jmespath' }>,
  payload: unknown,
  expressions: Pick<Expressions, 'evaluate'>,
): Promise<unknown> {
  try {
    return await expressions.evaluate(scope, extraction.expression, payload);
  } catch (cause) {
    if (!(cause instanceof ExpressionError)) throw cause;
    throw noQuery(extraction, cause.message, cause);
  }
}

function noQuery({ mode }: QueryExtraction, issue: string, cause?: unknown): PlatformError {
  return new PlatformError('no_message', {
    message: `The payload ${issue} where query_extraction (mode ${mode}) looks for it.`,
    details: { field: 'body', issue },
    cause,
  });
}
