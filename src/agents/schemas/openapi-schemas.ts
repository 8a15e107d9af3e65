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
const referencesMax = 10_000;
const referenceCharsMax = 2_000;
/** A text to which many places refer counts in each, since the tool has it in each. */
const charsMax = 1_000_000;

const mapKeywords = new Set(['properties', 'patternProperties']);
const listKeywords = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems']);
const schemaKeywords = new Set(['items', 'additionalProperties', 'not']);
/** Keywords of OpenAPI that say nothing to a model, or that JSON Schema does not have. */
const dropped = new Set(['nullable', 'discriminator', 'xml', 'externalDocs', 'example', '$schema', '$id']);

export class OpenApiSchemas {
  readonly #document: JsonObject;
  #nodes = 0;
  #references = 0;
  #chars = 0;

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
    if (!isJsonObject(schema)) return this.#counted(schema);
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
      else if (schemaKeywords.has(keyword)) plain[keyword] = this.whole(value, open);
      else plain[keyword] = this.#counted(value);
    }
    return limitsOf(nullableOf(schema, plain));
  }

  #map(schemas: JsonObject, open: readonly string[]): JsonObject {
    return Object.fromEntries(
      Object.entries(schemas).map(([name, schema]) => [name, this.whole(schema, open)] as const),
    );
  }

  #counted(value: unknown): unknown {
    this.#chars += charsIn(value, charsMax - this.#chars);
    if (this.#chars > charsMax)
      throw invalidField('openapi.document', `describes the operation with more than ${charsMax} characters`);
    return value;
  }

  /** Nothing outside of the document is fetched. */
  #at(reference: string): unknown {
    this.#references += 1;
    if (this.#references > referencesMax || reference.length > referenceCharsMax)
      throw invalidField(
        'openapi.document',
        `must have at most ${referencesMax} references to follow, of ${referenceCharsMax} characters each`,
      );
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

/** The characters of the value as JSON, or a number above `room`. */
function charsIn(value: unknown, room: number): number {
  if (typeof value === 'string') return value.length + 2;
  if (typeof value !== 'object' || value === null) return 5;
  let chars = 2;
  for (const [name, member] of Object.entries(value)) {
    chars += name.length + charsIn(member, room - chars);
    if (chars > room) break;
  }
  return chars;
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
