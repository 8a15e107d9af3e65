import type { Operation, OperationTable } from '../operations/index.js';
import { exampleUuid, textsByFormat, valuesByName } from './example-values.js';
import type { Json } from './schema-book.js';

/** Deeper than any answer that is worth reading as an example. */
const depthMax = 12;
const schemaPlace = '#/components/schemas/';

/** Adds an example to each body and each answer: the declared one, or one that is made of its schema. */
export function withExamples<Document extends Json>(document: Document, table: OperationTable): Document {
  const paths = document['paths'] as Readonly<Record<string, Readonly<Record<string, Json>>>>;
  const components = document['components'] as Readonly<Record<string, Json>>;
  const maker = new ExampleMaker(components['schemas'] as Readonly<Record<string, Json>>);
  const operations = new Map(table.operations.map((operation) => [operation.name, operation]));
  const written = Object.entries(paths).map(([path, methods]) => {
    const described = Object.entries(methods).map(([method, each]) => {
      const operation = operations.get(String(each['operationId']));
      return [method, operation === undefined ? each : exemplified(each, operation, maker)] as const;
    });
    return [path, Object.fromEntries(described)] as const;
  });
  return { ...document, paths: Object.fromEntries(written) };
}

function exemplified(described: Json, operation: Operation, maker: ExampleMaker): Json {
  const { shown, status } = operation;
  const body = described['requestBody'] as Json | undefined;
  const responses = described['responses'] as Readonly<Record<string, Json>>;
  const answer = responses[String(status)] ?? {};
  return {
    ...described,
    ...(body !== undefined && {
      requestBody: { ...body, content: contentWith(body, shown.bodyExample, (schema) => maker.sent(schema)) },
    }),
    responses: {
      ...responses,
      [String(status)]: {
        ...answer,
        content: contentWith(answer, shown.outputExample, (schema) => maker.answered(schema)),
      },
    },
  };
}

function contentWith({ content }: Json, declared: unknown, make: (schema: Json) => unknown): Json {
  const entries = Object.entries((content ?? {}) as Readonly<Record<string, Json>>);
  return Object.fromEntries(
    entries.map(([type, media]) => {
      const schema = media['schema'] as Json | undefined;
      if (schema === undefined) return [type, media];
      const example = declared !== undefined && type === 'application/json' ? declared : make(schema);
      return [type, example === undefined ? media : { ...media, example }];
    }),
  );
}

/** Makes values that fit schemas. */
class ExampleMaker {
  readonly #schemas: Readonly<Record<string, Json>>;

  constructor(schemas: Readonly<Record<string, Json>>) {
    this.#schemas = schemas;
  }

  /** A request with the fields that are required, or else with the first one. */
  sent(schema: Json): unknown {
    return this.#make(schema, '', 0, false);
  }

  /** An answer with every field. */
  answered(schema: Json): unknown {
    return this.#make(schema, '', 0, true);
  }

  #make(given: Json, name: string, depth: number, isWhole: boolean): unknown {
    const schema = this.#resolved(given);
    const written = (schema['examples'] as readonly unknown[] | undefined)?.[0];
    if (written !== undefined) return written;
    if (schema['const'] !== undefined) return schema['const'];
    const byName = (valuesByName[name] ?? []).find((value) => fits(value, schema));
    if (byName !== undefined) return byName;
    const values = schema['enum'] as readonly unknown[] | undefined;
    if (values !== undefined) return values[0];
    const choices = (schema['oneOf'] ?? schema['anyOf']) as readonly Json[] | undefined;
    if (choices !== undefined && schema['type'] === undefined) {
      return this.#make(choices[0] ?? {}, name, depth, isWhole);
    }
    const all = schema['allOf'] as readonly Json[] | undefined;
    if (all !== undefined) {
      return Object.assign({}, ...all.map((each) => this.#make(each, name, depth, isWhole))) as unknown;
    }
    if (!isWhole && schema['default'] !== undefined) return schema['default'];
    return this.#ofType(schema, name, depth, isWhole);
  }

  #ofType(schema: Json, name: string, depth: number, isWhole: boolean): unknown {
    const { type } = schema;
    switch (Array.isArray(type) ? (type as readonly unknown[])[0] : type) {
      case 'object':
        return this.#object(schema, depth, isWhole);
      case 'array':
        return this.#list(schema, name, depth, isWhole);
      case 'string':
        return textOf(schema);
      case 'integer':
      case 'number':
        return numberOf(schema);
      case 'boolean':
        return true;
      case 'null':
        return null;
      default:
        return isWhole ? null : undefined;
    }
  }

  #object(schema: Json, depth: number, isWhole: boolean): unknown {
    const properties = (schema['properties'] ?? {}) as Readonly<Record<string, Json>>;
    const required = (schema['required'] ?? []) as readonly string[];
    const names = Object.keys(properties);
    const chosen = isWhole ? names : required.length > 0 ? required : depth === 0 ? names.slice(0, 1) : [];
    if (depth > depthMax) return {};
    const entries = chosen.map((name) => {
      return [name, this.#make(properties[name] ?? {}, name, depth + 1, isWhole)] as const;
    });
    return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
  }

  #list(schema: Json, name: string, depth: number, isWhole: boolean): readonly unknown[] {
    const { items } = schema;
    if (depth > depthMax || typeof items !== 'object' || items === null) return [];
    const singular = name.replace(/s$/, '');
    const item = this.#make(items as Json, singular, depth + 1, isWhole);
    return item === undefined ? [] : [item];
  }

  #resolved(schema: Json): Json {
    const { $ref, ...beside } = schema;
    if (typeof $ref !== 'string') return schema;
    return { ...this.#resolved(this.#schemas[$ref.slice(schemaPlace.length)] ?? {}), ...beside };
  }
}

/** Whether a value of the table suits a field of that name. */
function fits(value: unknown, schema: Json): boolean {
  const { type, pattern, maxLength, minLength, minimum, maximum, enum: values, format } = schema;
  if (values !== undefined) return (values as readonly unknown[]).includes(value);
  const types = Array.isArray(type) ? (type as readonly unknown[]) : [type];
  if (value === null) return types.includes('null');
  if (typeof value === 'number') {
    const whole = Number.isInteger(value) && types.includes('integer');
    if (!whole && !types.includes('number')) return false;
    return value >= Number(minimum ?? -Infinity) && value <= Number(maximum ?? Infinity);
  }
  if (typeof value === 'object') {
    return types.includes('object') && schema['properties'] === undefined;
  }
  if (typeof value !== 'string' || !types.includes('string')) return false;
  if (format !== undefined) return typeof format === 'string' && value === textsByFormat[format];
  if (typeof pattern === 'string' && !new RegExp(pattern, 'u').test(value)) return false;
  return value.length >= Number(minLength ?? 0) && value.length <= Number(maxLength ?? Infinity);
}

function textOf({ format, pattern, minLength }: Json): string {
  const byFormat = textsByFormat[String(format)];
  if (byFormat !== undefined) return byFormat;
  const candidates = [
    'text',
    'example',
    'auto',
    exampleUuid,
    '1',
    'draft',
    '/',
    '@example.com',
    '203.0.113.0/24',
  ];
  const isFit = (text: string): boolean =>
    text.length >= Number(minLength ?? 0) &&
    (typeof pattern !== 'string' || new RegExp(pattern, 'u').test(text));
  return candidates.find(isFit) ?? 'text';
}

function numberOf({ minimum, maximum, exclusiveMinimum }: Json): number {
  const least = Number(minimum ?? (exclusiveMinimum === undefined ? 0 : Number(exclusiveMinimum) + 1));
  return Math.min(Math.max(least, 1), Number(maximum ?? Infinity));
}
