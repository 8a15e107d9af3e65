// Loaded by child processes: evaluates one expression.
import { type JSONValue, search } from '@jmespath-community/jmespath';
import type { ExpressionFailure } from './expression-error.js';
import { limitFunctions, LimitError } from './function-limits.js';
import { valueDepthMax } from './limits.js';
import { exceeds } from './value-bounds.js';

export interface EvaluateInput {
  readonly [name: string]: string | number;
  readonly expression: string;
  /** As JSON. */
  readonly document: string;
  readonly resultCharsMax: number;
}

export type Evaluated =
  | { readonly json: string }
  | { readonly failure: ExpressionFailure; readonly reason: string };

const reasonCharsMax = 200;

limitFunctions();

export function run({ expression, document, resultCharsMax }: EvaluateInput): Evaluated {
  try {
    const value = JSON.parse(document) as JSONValue;
    if (exceeds(value, valueDepthMax))
      return tooLarge(`the document is nested more than ${valueDepthMax} levels deep`);
    const result: unknown = search(value, expression) ?? null;
    if (exceeds(result, valueDepthMax, resultCharsMax)) return tooLarge('its result is too large');
    const json = JSON.stringify(result);
    if (json === undefined) return { failure: 'invalid', reason: 'its result is not a JSON value' };
    return json.length > resultCharsMax ? tooLarge('its result is too large') : { json };
  } catch (error) {
    // A RangeError means a stack overflow, or a text above the maximum length.
    if (error instanceof RangeError || error instanceof LimitError) return tooLarge(reasonOf(error));
    return { failure: 'invalid', reason: reasonOf(error) };
  }
}

function tooLarge(reason: string): Evaluated {
  return { failure: 'too-large', reason };
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message.slice(0, reasonCharsMax) : '';
}
