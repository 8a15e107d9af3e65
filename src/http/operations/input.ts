import { z } from 'zod';
import { PlatformError } from '../../kernel/errors.js';
import type { Operation } from './operation.js';
import { refuseMistypedParameters, refuseUnknownFields, refuseWithoutEffect } from './unknown-fields.js';
import { validate } from './validate.js';

const generalCodes: ReadonlySet<string> = new Set(['validation_error', 'missing_required_field']);

type Query = Readonly<Record<string, string>>;

/** The body as the operation's handler takes it; throws an error about the first field that is wrong. */
export function validBody(operation: Operation, body: unknown): unknown {
  const { body: schema, unknownFields } = operation;
  if (schema === undefined) return undefined;
  // First: a mistyped name is also a missing one, and the nearest name helps more than "required".
  if (unknownFields === 'refuse') {
    const answered = answeredFields(operation);
    refuseUnknownFields(schema, body, answered);
    if (answered.length > 0) refuseWithoutEffect(schema, body);
  }
  return validate(schema, body);
}

/** The query as the operation's handler takes it; throws an error about the first parameter that is wrong. */
export function validQuery({ query: schema, unknownFields }: Operation, query: Query): unknown {
  if (schema === undefined) return {};
  const refuseMistyped = () => {
    if (unknownFields === 'refuse') refuseMistypedParameters(schema, query);
  };
  let valid: unknown;
  try {
    valid = validate(schema, query);
  } catch (error) {
    // A code that a parameter has of its own comes first: clients act on it.
    if (error instanceof PlatformError && generalCodes.has(error.code)) refuseMistyped();
    throw error;
  }
  refuseMistyped();
  return valid;
}

/**
 * The fields of the resource that a change answers. A client may send back what it read: the fields that cannot be set
 * have no effect beside others.
 */
function answeredFields({ method, output }: Operation): readonly string[] {
  if (method !== 'PATCH' && method !== 'PUT') return [];
  const { data } = output instanceof z.ZodObject ? output.shape : {};
  return data instanceof z.ZodObject ? Object.keys(data.shape) : [];
}
