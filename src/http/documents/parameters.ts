import { z } from 'zod';
import { type Operation, pageQuery } from '../operations/index.js';
import { headerDescriptions, pathDescription, queryDescriptions } from './parameter-words.js';
import type { Json, SchemaBook } from './schema-book.js';

/** Parameters of many operations, described once. */
const shared: Readonly<Record<string, Json>> = {
  Limit: {
    name: 'limit',
    in: 'query',
    required: false,
    description: 'The most rows of a page. A greater value counts as 100.',
    schema: { type: 'integer', minimum: 1, maximum: 100 },
  },
  Cursor: {
    name: 'cursor',
    in: 'query',
    required: false,
    description: 'Continues a list behind the page that gave this `next_cursor`.',
    schema: { type: 'string', maxLength: 200 },
  },
  TenantId: {
    name: 'x-tenant-id',
    in: 'header',
    required: false,
    description: 'The tenant. Needed by users of several tenants; an API key has only one.',
    schema: { type: 'string', format: 'uuid' },
  },
  RequiredTenantId: {
    name: 'x-tenant-id',
    in: 'header',
    required: true,
    description: 'The tenant. Here a user of one tenant has to name it too.',
    schema: { type: 'string', format: 'uuid' },
  },
  IdempotencyKey: {
    name: 'idempotency-key',
    in: 'header',
    required: false,
    description: 'Names the request, so that a repeat has no second effect: it gets the first answer again.',
    schema: { type: 'string', minLength: 1, maxLength: 255 },
    example: 'order-1042',
  },
};

/** OpenAPI has other places for these. */
const notDescribed = new Set([
  'accept',
  'accept-encoding',
  'content-type',
  'authorization',
  'cookie',
  'host',
  'origin',
]);

export function parametersOf(operation: Operation, schemas: SchemaBook): readonly Json[] {
  return [
    ...pathParameters(operation, schemas),
    ...queryParameters(operation, schemas),
    ...headerParameters(operation),
  ];
}

export function describedParameters(): Json {
  return shared;
}

function pathParameters({ path, params }: Operation, schemas: SchemaBook): readonly Json[] {
  const { properties } = fieldsOf(params, schemas);
  return [...path.matchAll(/:([^/]+)/g)].map(([, name = '']) => {
    const { description = pathDescription(path, name), ...schema } = properties[name] ?? { type: 'string' };
    return {
      name,
      in: 'path',
      required: true,
      description,
      schema: Object.keys(schema).length === 0 ? { type: 'string' } : schema,
    };
  });
}

function queryParameters({ query }: Operation, schemas: SchemaBook): readonly Json[] {
  const { properties, required } = fieldsOf(query, schemas);
  const shape: Readonly<Record<string, unknown>> = query instanceof z.ZodObject ? query.shape : {};
  return Object.entries(properties).map(([name, written]) => {
    if (shape[name] === pageQuery.shape.limit) return reference('Limit');
    if (shape[name] === pageQuery.shape.cursor) return reference('Cursor');
    const { description = queryDescriptions[name], ...schema } = valueIn(written);
    return {
      name,
      in: 'query',
      required: required.includes(name),
      ...(description !== undefined && { description }),
      schema,
    };
  });
}

function headerParameters({ access, headers }: Operation): readonly Json[] {
  const own = headers
    .filter((name) => !notDescribed.has(name))
    .map((name) => {
      if (name === 'idempotency-key') return reference('IdempotencyKey');
      const description = headerDescriptions[name];
      const described = description !== undefined && { description };
      return { name, in: 'header', required: false, ...described, schema: { type: 'string' } };
    });
  const { from } = access.tenant;
  if (from === 'required-header') return [reference('RequiredTenantId'), ...own];
  // An API key has its tenant.
  return from === 'header' && access.credentials.has('user') ? [reference('TenantId'), ...own] : own;
}

function reference(name: string): Json {
  return { $ref: `#/components/parameters/${name}` };
}

/** A value as the address carries it: numbers and flags arrive as texts. */
function valueIn(schema: Json): Json {
  const { pattern, enum: values, type: _, ...rest } = schema;
  if (pattern === '^\\d+$') return { type: 'integer', minimum: 1, ...rest };
  if (Array.isArray(values) && values.includes('true') && values.includes('false')) {
    return { type: 'boolean', ...rest };
  }
  return schema;
}

function fieldsOf(
  schema: z.ZodType | undefined,
  schemas: SchemaBook,
): { readonly properties: Readonly<Record<string, Json>>; readonly required: readonly string[] } {
  if (schema === undefined) return { properties: {}, required: [] };
  const { properties = {}, required = [] } = schemas.write(schema, 'input');
  return { properties: properties as Record<string, Json>, required: required as string[] };
}
