import { z } from 'zod';
import { groupBy } from './group.js';
import { type ErrorCode, errorKinds } from '../../kernel/errors.js';
import { type Dialect, type Operation, type OperationTable, spelled } from '../operations/index.js';

type Json = Readonly<Record<string, unknown>>;

/** The errors that every operation of this kind can return, and those that it declares itself. */
function refusalsOf(operation: Operation): readonly ErrorCode[] {
  const { access } = operation;
  const codes: ErrorCode[] = [...operation.errors, 'internal_error', 'service_unavailable'];
  if (operation.rate !== 'uncounted') codes.push('rate_limit_exceeded');
  if (!access.anonymous) codes.push('authentication_required');
  if (access.credentials.has('key')) codes.push('invalid_api_key');
  if (access.credentials.has('user')) codes.push('invalid_token');
  if (access.tenant.from !== 'none') codes.push('tenant_not_found');
  if (access.permission !== null) codes.push('insufficient_permissions');
  if (operation.path.includes(':')) codes.push(operation.absent);
  if (operation.body !== undefined) codes.push('payload_too_large', 'unsupported_media_type');
  if (operation.body !== undefined) codes.push('malformed_body');
  if (operation.body !== undefined || operation.query !== undefined) codes.push('validation_error');
  if (operation.unknownFields === 'refuse') {
    codes.push('unknown_parameter');
    if (operation.body !== undefined) codes.push('unknown_field');
  }
  return [...new Set(codes)];
}

/** The OpenAPI 3.1 document, generated from the declarations that serve the requests. */
export function openApiOf(
  table: OperationTable,
  info: { readonly version: string; readonly url: string },
): Json {
  const paths: Record<string, Record<string, Json>> = {};
  for (const operation of table.operations) {
    const path = operation.path.replaceAll(/:([^/]+)/g, '{$1}');
    (paths[path] ??= {})[operation.method.toLowerCase()] = describe(operation);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Troupe',
      version: info.version,
      description: 'Multi-tenant LLM calls, agents, triggers, sessions and telemetry.',
    },
    servers: [{ url: info.url }],
    paths,
    components: {
      securitySchemes: {
        apiKey: { type: 'apiKey', in: 'header', name: 'X-Api-Key' },
        accessToken: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
        operatorToken: { type: 'http', scheme: 'bearer' },
      },
      schemas: {
        Error: {
          type: 'object',
          required: ['error', 'message', 'status'],
          properties: {
            error: { type: 'string' },
            message: { type: 'string' },
            details: { type: 'object' },
            status: { const: 'error' },
          },
        },
        TelemetryError: {
          type: 'object',
          required: ['error'],
          properties: {
            error: {
              type: 'object',
              required: ['code', 'message'],
              properties: { code: { type: 'string' }, message: { type: 'string' } },
            },
          },
        },
        OpenAiError: {
          type: 'object',
          required: ['error'],
          properties: {
            error: {
              type: 'object',
              required: ['message', 'type', 'param', 'code'],
              properties: {
                message: { type: 'string' },
                type: { type: 'string' },
                param: { type: ['string', 'null'] },
                code: { type: 'string' },
              },
            },
          },
        },
        AnthropicError: {
          type: 'object',
          required: ['type', 'error'],
          properties: {
            type: { const: 'error' },
            error: {
              type: 'object',
              required: ['type', 'message'],
              properties: {
                type: { type: 'string' },
                message: { type: 'string' },
                code: { type: 'string' },
              },
            },
          },
        },
      },
    },
  };
}

function describe(operation: Operation): Json {
  return {
    operationId: operation.name,
    summary: operation.title,
    ...(operation.description === '' ? {} : { description: operation.description }),
    tags: [operation.name.split('.')[0]],
    ...(operation.access.permission === null ? {} : { 'x-permission': operation.access.permission }),
    security: securityOf(operation),
    parameters: [...pathParameters(operation), ...queryParameters(operation), ...headerParameters(operation)],
    ...requestBodyOf(operation),
    responses: responsesOf(operation),
  };
}

function securityOf({ access }: Operation): readonly Json[] {
  const names = { key: 'apiKey', user: 'accessToken', operator: 'operatorToken' } as const;
  const schemes: Json[] = [...access.credentials].map((kind) => ({ [names[kind]]: [] }));
  return access.anonymous || access.local ? [...schemes, {}] : schemes;
}

function pathParameters({ path, params }: Operation): readonly Json[] {
  const properties = propertiesOf(params);
  return [...path.matchAll(/:([^/]+)/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    schema: properties[name] ?? { type: 'string' },
  }));
}

function queryParameters({ query }: Operation): readonly Json[] {
  if (query === undefined) return [];
  const schema = schemaOf(query, 'input');
  const required = Array.isArray(schema['required']) ? (schema['required'] as string[]) : [];
  return Object.entries(propertiesOf(query)).map(([name, property]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    schema: property,
  }));
}

function headerParameters({ access, headers }: Operation): readonly Json[] {
  const tenant =
    access.tenant.from === 'header' || access.tenant.from === 'required-header'
      ? [
          {
            name: 'x-tenant-id',
            in: 'header',
            required: access.tenant.from === 'required-header',
            schema: { type: 'string', format: 'uuid' },
          },
        ]
      : [];
  const own = headers.map((name) => ({ name, in: 'header', required: false, schema: { type: 'string' } }));
  return [...tenant, ...own];
}

function requestBodyOf({ body, bodyRules }: Operation): Json {
  if (bodyRules.form === 'raw') return { requestBody: { content: { '*/*': { schema: {} } } } };
  if (body === undefined) return {};
  return { requestBody: { content: { 'application/json': { schema: schemaOf(body, 'input') } } } };
}

function responsesOf(operation: Operation): Json {
  const responses: Record<string, Json> = {
    [String(operation.status)]: {
      description: operation.title,
      content: { [operation.contentType]: { schema: schemaOf(operation.output, 'output') } },
    },
  };
  const byStatus = groupBy(refusalsOf(operation), (code) => errorKinds[code].status);
  for (const [status, codes] of byStatus) {
    const lines = codes.map((code) => `\`${spelled(code, operation.dialect)}\`: ${errorKinds[code].message}`);
    responses[String(status)] = {
      description: [...new Set(lines)].join(' '),
      content: { 'application/json': { schema: errorSchemas[operation.dialect] } },
    };
  }
  return responses;
}

const general = { $ref: '#/components/schemas/Error' };

const errorSchemas: Record<Dialect, Json> = {
  general,
  keys: general,
  invocation: general,
  telemetry: { $ref: '#/components/schemas/TelemetryError' },
  openai: { $ref: '#/components/schemas/OpenAiError' },
  anthropic: { $ref: '#/components/schemas/AnthropicError' },
};

function schemaOf(schema: z.ZodType, io: 'input' | 'output'): Json {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    target: 'draft-2020-12',
  });
  return rest;
}

function propertiesOf(schema: z.ZodType | undefined): Readonly<Record<string, Json>> {
  if (schema === undefined) return {};
  const properties = schemaOf(schema, 'input')['properties'];
  return (properties ?? {}) as Record<string, Json>;
}
