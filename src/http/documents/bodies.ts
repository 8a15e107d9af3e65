import type { Operation } from '../operations/index.js';
import { headersOfAnswer } from './headers.js';
import type { Json, SchemaBook } from './schema-book.js';

const json = 'application/json';
const events = 'text/event-stream';
const bytes = 'application/octet-stream';

export function requestBodyOf({ body, bodyRules, shown, method }: Operation, schemas: SchemaBook): Json {
  const schema = shown.body ?? body;
  if (schema === undefined && bodyRules.form !== 'raw') return {};
  const written = schema === undefined ? {} : schemas.write(schema, 'input');
  const types = shown.bodyTypes ?? [json];
  return {
    requestBody: {
      // A missing body counts as `{}`.
      required: method !== 'DELETE' && hasRequired(written),
      content: Object.fromEntries(types.map((type) => [type, { schema: isText(type) ? text : written }])),
    },
  };
}

const text = { type: 'string' };

function isText(type: string): boolean {
  return type.startsWith('text/');
}

function hasRequired({ required, anyOf, oneOf, $ref }: Json): boolean {
  if ($ref !== undefined) return true;
  if (Array.isArray(required) && required.length > 0) return true;
  const alternatives = (anyOf ?? oneOf ?? []) as readonly Json[];
  return alternatives.length > 0 && alternatives.every(hasRequired);
}

export function answerOf(operation: Operation, schemas: SchemaBook): Json {
  const { status, title, contentType, shown } = operation;
  const content: Record<string, Json> = {};
  if (contentType !== events) {
    const schema = schemas.write(shown.output ?? operation.output, 'output');
    // Bytes have no schema.
    content[contentType] = contentType === bytes ? {} : { schema };
  }
  if (shown.events !== undefined) {
    content[events] = {
      schema: schemas.write(shown.events, 'output'),
      ...(shown.eventsExample !== undefined && { 'x-stream-example': shown.eventsExample }),
    };
  }
  return {
    [String(status)]: { description: title, headers: headersOfAnswer(operation), content },
  };
}
