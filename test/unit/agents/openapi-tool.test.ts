// HTTP tools from operations of OpenAPI documents.
import test from 'ava';
import { toolFromOpenApi } from '../../../src/agents/index.js';
import { PlatformError } from '../../../src/kernel/errors.js';

const document = {
  openapi: '3.0.3',
  servers: [{ url: 'https://{region}.example.com/v2/', variables: { region: { default: 'eu' } } }],
  components: {
    parameters: { limit: { name: 'page[limit]', in: 'query', schema: { type: 'integer', maximum: 50 } } },
    schemas: {
      Person: {
        type: 'object',
        properties: {
          name: { type: 'string', nullable: true },
          boss: { $ref: '#/components/schemas/Person' },
        },
      },
      NewOrder: {
        type: 'object',
        required: ['item', 'id'],
        properties: {
          id: { type: 'string', readOnly: true },
          item: { type: 'string', example: 'pear', 'x-order': 1 },
          count: { type: 'integer', minimum: 0, exclusiveMinimum: true },
          buyer: { $ref: '#/components/schemas/Person' },
        },
      },
    },
  },
  paths: {
    '/orders/{order-id}': {
      parameters: [
        {
          name: 'order-id',
          in: 'path',
          required: true,
          schema: { type: 'string' },
          description: 'The number.',
        },
        { name: 'X-Trace', in: 'header', required: true, schema: { type: 'string' } },
        { name: 'Authorization', in: 'header', required: true, schema: { type: 'string' } },
        { name: 'X-Maybe', in: 'header', schema: { type: 'string' } },
      ],
      get: {
        operationId: 'orders.read',
        summary: 'Reads an order.',
        description: 'With its items.',
        parameters: [{ $ref: '#/components/parameters/limit' }],
      },
    },
    '/orders': {
      post: {
        operationId: 'createOrder',
        requestBody: {
          required: true,
          content: { 'application/json': { schema: { $ref: '#/components/schemas/NewOrder' } } },
        },
      },
      put: {
        requestBody: {
          required: true,
          content: { 'application/json': { schema: { type: 'array', items: { type: 'string' } } } },
        },
      },
      patch: {
        operationId: 'upload',
        requestBody: { required: true, content: { 'multipart/form-data': { schema: { type: 'object' } } } },
      },
      delete: { operationId: 'away', parameters: [{ $ref: 'https://elsewhere.example/p.json' }] },
    },
    '/lost/{id}': { get: { operationId: 'lost' } },
    '/form': {
      post: {
        operationId: 'form',
        requestBody: {
          content: {
            'application/x-www-form-urlencoded': {
              schema: { type: 'object', properties: { a: { type: 'string' } } },
            },
          },
        },
      },
    },
  },
};

test('parameters of path and operation become arguments with their places', (t) => {
  const tool = toolFromOpenApi({ document, operation_id: 'orders.read' });
  t.deepEqual(tool, {
    name: 'orders_read',
    description: 'Reads an order.\n\nWith its items.',
    parameters: {
      type: 'object',
      properties: {
        'order-id': { type: 'string', description: 'The number.' },
        'X-Trace': { type: 'string' },
        page_limit_: { type: 'integer', maximum: 50 },
      },
      required: ['order-id', 'X-Trace'],
      additionalProperties: false,
    },
    api: {
      method: 'GET',
      url: 'https://eu.example.com/v2/orders/${args.order-id}',
      query: { 'page[limit]': '${args.page_limit_}' },
      headers: { 'X-Trace': '${args.X-Trace}' },
    },
  });
});

test('fields of a body become arguments, without references and without what only OpenAPI knows', (t) => {
  const { parameters, api } = toolFromOpenApi({ document, operation_id: 'createOrder' });
  t.deepEqual(parameters, {
    type: 'object',
    properties: {
      item: { type: 'string' },
      count: { type: 'integer', exclusiveMinimum: 0 },
      buyer: { type: 'object', properties: { name: { type: ['string', 'null'] }, boss: {} } },
    },
    required: ['item'],
    additionalProperties: false,
  });
  t.deepEqual(api['body'], { item: '${args.item}', count: '${args.count}', buyer: '${args.buyer}' });
});

test('another body is one argument, and a form says its type', (t) => {
  const list = toolFromOpenApi({
    document,
    path: '/orders',
    method: 'put',
    server: 'http://localhost:8080/',
  });
  t.is(list.name, 'put_orders');
  t.like(list.api, {
    method: 'PUT',
    url: 'http://localhost:8080/orders',
    headers: { 'content-type': 'application/json' },
    body: '${args.body}',
  });
  t.like(list.parameters, {
    properties: { body: { type: 'array', items: { type: 'string' } } },
    required: ['body'],
  });
  const { api, parameters } = toolFromOpenApi({ document, operation_id: 'form' });
  t.like(api, { headers: { 'content-type': 'application/x-www-form-urlencoded' }, body: { a: '${args.a}' } });
  t.false('required' in parameters);
});

test('what cannot become a tool is refused with its field', (t) => {
  const circle = {
    ...document,
    components: { schemas: {}, parameters: { limit: { $ref: '#/components/parameters/limit' } } },
  };
  for (const [given, field, message] of [
    [{}, 'openapi.document', /expected/],
    [{ document: { swagger: '2.0' }, operation_id: 'x' }, 'openapi.document', /version 3/],
    [{ document }, 'openapi.operation_id', /path and method/],
    [{ document, operation_id: 'creatOrder' }, 'openapi.operation_id', /Did you mean "createOrder"/],
    [{ document, path: '/orders', method: 'get' }, 'openapi.path', /no operation/],
    [{ document, operation_id: 'upload' }, 'openapi.operation_id', /multipart\/form-data/],
    [{ document, operation_id: 'away' }, 'openapi.document', /not part of it/],
    [{ document, operation_id: 'lost' }, 'openapi.document', /no parameter for \{id\}/],
    [{ document: circle, operation_id: 'orders.read' }, 'openapi.document', /circle/],
    [
      { document: { ...document, servers: [{ url: '/v1' }] }, operation_id: 'form' },
      'openapi.server',
      /absolute/,
    ],
  ] as const) {
    const refused = t.throws(() => toolFromOpenApi(given), { instanceOf: PlatformError });
    t.is(refused?.code, 'validation_error');
    t.is(refused?.details?.['field'], field, refused?.message);
    t.regex(refused?.message ?? '', message);
  }
});

test('a schema of very many schemas is refused', (t) => {
  const schemas = Object.fromEntries(
    Array.from({ length: 13 }, (_, at) => {
      const next = { $ref: `#/components/schemas/s${at + 1}` };
      return [`s${at}`, { type: 'object', properties: { a: next, b: next, c: next } }];
    }),
  );
  const wide = {
    openapi: '3.1.0',
    servers: [{ url: 'https://a.example' }],
    components: { schemas: { ...schemas, s13: { type: 'string' } } },
    paths: {
      '/a': {
        post: {
          operationId: 'a',
          requestBody: { content: { 'application/json': { schema: { $ref: '#/components/schemas/s0' } } } },
        },
      },
    },
  };
  t.throws(() => toolFromOpenApi({ document: wide, operation_id: 'a' }), {
    message: /more than 5000 schemas/,
  });
});

test('a document that is made to be slow or to grow is refused at once', (t) => {
  const startedMs = performance.now();
  const get = { parameters: [{ name: 'q', in: 'query', schema: { $ref: '#/components/schemas/A' } }] };
  const source = (more: object, of: object = get) => ({
    document: {
      openapi: '3.1.0',
      servers: [{ url: 'https://api.example.com' }],
      paths: { '/x': { get: of } },
      ...more,
    },
    path: '/x',
    method: 'get',
  });
  const refused = (given: unknown, issue: RegExp): void => {
    const error = t.throws(() => toolFromOpenApi(given), { instanceOf: PlatformError });
    t.regex(error?.message ?? '', issue);
  };
  refused(
    source({ servers: [{ url: `https://a${'/'.repeat(300_000)}b` }] }, {}),
    /^openapi.server: must have at most 2000/,
  );
  const variables = { x: { default: 'y'.repeat(100_000) } };
  refused(
    source({ servers: [{ url: `https://a/${'{x}'.repeat(600)}`, variables }] }, {}),
    /^openapi.server: must have at most 2000/,
  );
  const long = 'k'.repeat(1_000_000);
  refused(
    { ...source({ paths: { '/x': { $ref: `#/${long}` } }, [long]: {} }), path: undefined, operation_id: 'x' },
    /^openapi.document: must have at most 10000 references/,
  );
  const circle = Object.fromEntries(
    Array.from({ length: 2_000 }, (_, at) => [`/${at}`, { $ref: '#/components/pathItems/p0' }]),
  );
  const chain = Object.fromEntries(
    Array.from({ length: 18 }, (_, at) => [`p${at}`, { $ref: `#/components/pathItems/p${at + 1}` }]),
  );
  refused(
    source({ paths: circle, components: { pathItems: { ...chain, p18: {} } } }),
    /^openapi.document: must have at most 10000 references/,
  );
  const properties = Object.fromEntries(
    Array.from({ length: 2_000 }, (_, at) => [`p${at}`, { $ref: '#/components/schemas/B' }]),
  );
  const schemas = {
    A: { type: 'object', properties },
    B: { type: 'string', enum: ['w'.repeat(1_000)] },
  };
  refused(source({ components: { schemas } }), /describes the operation with more than 1000000 characters/);
  t.true(performance.now() - startedMs < 2_000);
});
