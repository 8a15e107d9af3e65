import { type Operation, type OperationTable, type RateClass } from '../operations/index.js';
import { answerOf, requestBodyOf } from './bodies.js';
import { withExamples } from './examples.js';
import { describedHeaders } from './headers.js';
import { describedParameters, parametersOf } from './parameters.js';
import { Refusals } from './refusals.js';
import { type Json, SchemaBook } from './schema-book.js';
import { describedTags, tagOf } from './tags.js';

/** A third of a second of work in all; a part of it takes as long as an ordinary request. */
const describedAtOnce = 5;

/**
 * The OpenAPI 3.1 document, generated from the declarations that serve the requests. `pause` lets the node answer others
 * in between.
 */
export async function openApiOf(
  table: OperationTable,
  info: { readonly version: string; readonly url: string },
  pause: () => Promise<void>,
): Promise<Json> {
  const schemas = new SchemaBook();
  const refusals = new Refusals(schemas);
  const paths: Record<string, Record<string, Json>> = {};
  for (const [at, operation] of table.operations.entries()) {
    if (at % describedAtOnce === 0) await pause();
    const path = operation.path.replaceAll(/:([^/]+)/g, '{$1}');
    (paths[path] ??= {})[operation.method.toLowerCase()] = describe(operation, schemas, refusals);
  }
  await pause();
  const written = schemas.completed({ paths, responses: refusals.described });
  const document = {
    openapi: '3.1.0',
    info: {
      title: 'Troupe',
      version: info.version,
      description: introduction,
      contact: { name: 'The operator of this installation' },
      license: { name: 'Proprietary', identifier: 'LicenseRef-Proprietary' },
    },
    servers: [{ url: info.url, description: 'This installation' }],
    tags: describedTags(table),
    security: [],
    paths: written.document.paths,
    components: {
      securitySchemes,
      parameters: describedParameters(),
      headers: describedHeaders(),
      responses: written.document.responses,
      schemas: written.schemas,
    },
  };
  await pause();
  return withExamples(document, table);
}

const introduction = `Multi-tenant LLM calls, agents, triggers, sessions and telemetry.

Requests name their credential in \`X-Api-Key\` or \`Authorization\`; users of several tenants name the tenant in \`x-tenant-id\`. Bodies and answers are JSON. Lists go on with \`cursor\`, the \`next_cursor\` of the page before. \`Idempotency-Key\` makes a repeat of a request safe. Answers may get further fields; clients ignore those that they do not know.`;

const securitySchemes = {
  apiKey: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Api-Key',
    description: 'A key of `POST /api/keys`, which starts with `svc_live_`, `svc_test_` or `svc_dev_`.',
  },
  bearerKey: { type: 'http', scheme: 'bearer', description: 'The same key as a bearer token.' },
  accessToken: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description: 'The `access_token` of a signed-in user, from `POST /api/auth/login`.',
  },
  visitorSecret: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Visitor-Secret',
    description:
      'The `secret` of `POST /api/v1/chat/{publicKey}/visitors`, beside an `Origin` that the public key allows.',
  },
  operatorToken: {
    type: 'http',
    scheme: 'bearer',
    description: 'The operator of the installation: `TROUPE_OPERATOR_TOKEN`.',
  },
};

function describe(operation: Operation, schemas: SchemaBook, refusals: Refusals): Json {
  const { name, title, access } = operation;
  return {
    operationId: name,
    summary: title.replace(/\.$/, ''),
    description: descriptionOf(operation),
    tags: [tagOf(name)],
    ...(access.permission !== null && { 'x-permission': access.permission }),
    security: securityOf(operation),
    parameters: parametersOf(operation, schemas),
    ...requestBodyOf(operation, schemas),
    responses: { ...answerOf(operation, schemas), ...refusals.of(operation) },
  };
}

/** What the declaration says, and what follows from its rules. */
function descriptionOf(operation: Operation): string {
  const { description, access, rate, unknownFields, body } = operation;
  const own = description === '' ? [] : [description.endsWith('.') ? description : `${description}.`];
  const permission = access.permission === null ? [] : [`Permission: \`${access.permission}\`.`];
  const refused = unknownFields === 'refuse' && body !== undefined ? ['Unknown fields are refused.'] : [];
  return [...own, [...permission, ...counted(rate), ...refused].join(' ')].join('\n\n');
}

function counted(rate: RateClass): readonly string[] {
  if (rate === 'uncounted') return ['Not counted by rate limits.'];
  return rate === 'request'
    ? ['Counts in the window of the caller.']
    : ['Counts in the windows of the key and of the tenant.'];
}

const schemesOf = {
  key: ['apiKey', 'bearerKey'],
  user: ['accessToken'],
  operator: ['operatorToken'],
  // The path has the key itself; the secret says which visitor of the page asks.
  'public-key': ['visitorSecret'],
} as const;

function securityOf({ access }: Operation): readonly Json[] {
  const schemes = [...access.credentials].flatMap((kind) => schemesOf[kind].map((name) => ({ [name]: [] })));
  return access.anonymous || access.local ? [...schemes, {}] : schemes;
}
