/**
 * Schemas of an OpenAPI document as JSON Schema (2020-12) without references: a tool keeps its own parameters, and not the
 * document that they come from.
 */
import { invalidField } from '../../kernel/errors.js';
import { isJsonObject, type JsonObject } from '../../http/operations/index.js';

/** What is below refers to itself, or is more than a model reads. */
const depthMax = 12;
const nodesMax = 5_000;
const stepsMax = 20;

const mapKeywords = new Set(['properties', 'patternProperties']);
const listKeywords = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems']);
const schemaKeywords = new Set(['items', 'additionalProperties', 'not']);
/** Keywords of OpenAPI that say nothing to a model, or that JSON Schema does not have. */
const dropped = new Set(['nullable', 'discriminator', 'xml', 'externalDocs', 'example', '$schema', '$id']);

export class OpenApiSchemas {
  readonly #document: JsonObject;
  #nodes = 0;

  constructor(document: JsonObject) {
    this.#document = document;
  }

  /** The object itself, or what its reference names. */
  resolved(value: unknown): JsonObject {
    let found = value;
    for (let step = 0; step < stepsMax; step += 1) {
      if (!isJsonObject(found)) return {};
      const reference = found['$ref'];
      if (typeof reference !== 'string') return found;
      found = this.#at(reference);
    }
    throw invalidField('openapi.document', 'has references that lead in a circle');
  }

  /** The schema with everything that it refers to in its place. */
  whole(schema: unknown, open: readonly string[] = []): unknown {
    this.#nodes += 1;
    if (this.#nodes > nodesMax) {
      throw invalidField('openapi.document', `describes the operation with more than ${nodesMax} schemas`);
    }
    if (!isJsonObject(schema)) return schema;
    const { $ref: reference, ...beside } = schema;
    if (typeof reference !== 'string') return open.length > depthMax ? {} : this.#plain(schema, open);
    if (open.includes(reference) || open.length > depthMax) return {};
    const named = this.whole(this.#at(reference), [...open, reference]);
    return isJsonObject(named) ? { ...named, ...this.#plain(beside, open) } : named;
  }

  #plain(schema: JsonObject, open: readonly string[]): JsonObject {
    const plain: Record<string, unknown> = {};
    for (const [keyword, value] of Object.entries(schema)) {
      if (dropped.has(keyword) || keyword.startsWith('x-')) continue;
      if (mapKeywords.has(keyword) && isJsonObject(value)) plain[keyword] = this.#map(value, open);
      else if (listKeywords.has(keyword) && Array.isArray(value))
        plain[keyword] = value.map((one: unknown) => this.whole(one, open));
      else plain[keyword] = schemaKeywords.has(keyword) ? this.whole(value, open) : value;
    }
    return limitsOf(nullableOf(schema, plain));
  }

  #map(schemas: JsonObject, open: readonly string[]): JsonObject {
    return Object.fromEntries(
      Object.entries(schemas).map(([name, schema]) => [name, this.whole(schema, open)] as const),
    );
  }

  /** Nothing outside of the document is fetched. */
  #at(reference: string): unknown {
    if (!reference.startsWith('#/')) {
      throw invalidField('openapi.document', `refers to ${reference.slice(0, 200)}, which is not part of it`);
    }
    let value: unknown = this.#document;
    for (const step of reference.slice(2).split('/')) {
      const key = decoded(step).replaceAll('~1', '/').replaceAll('~0', '~');
      value =
        typeof value === 'object' && value !== null && Object.hasOwn(value, key)
          ? Reflect.get(value, key)
          : undefined;
    }
    if (value === undefined) {
      throw invalidField('openapi.document', `refers to ${reference.slice(0, 200)}, which it does not have`);
    }
    return value;
  }
}

function decoded(step: string): string {
  try {
    return decodeURIComponent(step);
  } catch {
    // A percent sign that is no encoding is part of the name.
    return step;
  }
}

/** OpenAPI 3.0 writes `nullable: true` for a type that may be null. */
function nullableOf(schema: JsonObject, plain: JsonObject): JsonObject {
  if (schema['nullable'] !== true) return plain;
  const { type, enum: values } = plain;
  return {
    ...plain,
    ...(typeof type === 'string' && { type: [type, 'null'] }),
    ...(Array.isArray(values) && !values.includes(null) && { enum: [...(values as unknown[]), null] }),
  };
}

/** OpenAPI 3.0 writes `exclusiveMinimum: true` beside `minimum`. */
function limitsOf(plain: JsonObject): JsonObject {
  let limited = plain;
  for (const [limit, exclusive] of [
    ['minimum', 'exclusiveMinimum'],
    ['maximum', 'exclusiveMaximum'],
  ] as const) {
    if (typeof limited[exclusive] !== 'boolean') continue;
    const { [limit]: bound, [exclusive]: isExclusive, ...rest } = limited;
    limited = bound === undefined ? rest : { ...rest, [isExclusive === true ? exclusive : limit]: bound };
  }
  return limited;
}
