import { type ErrorCode, errorKinds, PlatformError } from '../../kernel/errors.js';
import { type Dialect, envelope, type Operation, spelled } from '../operations/index.js';
import { groupBy } from './group.js';
import { headersOfRefusal } from './headers.js';
import type { Json, SchemaBook } from './schema-book.js';

/** The errors that an operation can answer: those that it declares, and those of every operation of its kind. */
export function codesOf(operation: Operation): readonly ErrorCode[] {
  const { access } = operation;
  const codes: ErrorCode[] = [...operation.errors, 'internal_error', 'service_unavailable'];
  if (operation.rate !== 'uncounted') codes.push('rate_limit_exceeded');
  if (!access.anonymous) codes.push('authentication_required');
  if (access.credentials.has('key')) codes.push('invalid_api_key');
  if (access.credentials.has('public-key')) codes.push('invalid_api_key', 'origin_not_allowed');
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

/** The refusals of all operations, each described once in `components.responses`. */
export class Refusals {
  readonly #responses = new Map<string, Json>();
  readonly #schemas: SchemaBook;

  constructor(schemas: SchemaBook) {
    this.#schemas = schemas;
    for (const [name, schema] of Object.entries(errorSchemas())) schemas.add(name, schema);
  }

  /** The refusals of the operation by status. */
  of(operation: Operation): Json {
    const byStatus = groupBy(codesOf(operation), (code) => errorKinds[code].status);
    const refusals = [...byStatus].map(([status, codes]) => {
      const name = this.#describe(operation, status, codes);
      return [String(status), { $ref: `#/components/responses/${name}` }];
    });
    return Object.fromEntries(refusals);
  }

  get described(): Json {
    const sorted = [...this.#responses].toSorted(([one], [other]) => (one < other ? -1 : 1));
    return Object.fromEntries(sorted);
  }

  #describe(operation: Operation, status: number, codes: readonly ErrorCode[]): string {
    const { dialect, shown } = operation;
    const spellings = [...new Set(codes.map((code) => spelled(code, dialect)))].toSorted();
    const own = shown.errors?.[status];
    const forms = formsOf(operation);
    const name =
      forms.map((form) => prefixes[form]).join('Or') +
      spellings.map(pascal).join('Or') +
      (own === undefined && operation.challenge === undefined ? '' : `Of${pascal(operation.name)}`);
    if (!this.#responses.has(name)) {
      const dialects = forms.map((form) => schemaWith(form, spellings));
      const alternatives = own === undefined ? dialects : [...dialects, this.#schemas.write(own, 'output')];
      this.#responses.set(name, {
        description: descriptionOf(codes, dialect),
        headers: headersOfRefusal(status, operation),
        content: {
          'application/json': {
            schema: alternatives.length === 1 ? alternatives[0] : { anyOf: alternatives },
            example: exampleOf(dialect, codes[0] ?? 'internal_error'),
          },
        },
      });
    }
    return name;
  }
}

/** The forms of an operation's errors: what both vendors have answers each vendor's clients in their own. */
function formsOf({ dialect, headers }: Operation): readonly Dialect[] {
  return dialect === 'openai' && headers.includes('anthropic-version') ? ['openai', 'anthropic'] : [dialect];
}

const prefixes: Record<Dialect, string> = {
  general: '',
  keys: 'Keys',
  invocation: 'Invocation',
  telemetry: 'Telemetry',
  openai: 'OpenAi',
  anthropic: 'Anthropic',
};

function pascal(code: string): string {
  return code
    .split(/[_.-]/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1).toLowerCase())
    .join('');
}

function descriptionOf(codes: readonly ErrorCode[], dialect: Dialect): string {
  const lines = new Map<string, string[]>();
  for (const code of codes) {
    const spelling = spelled(code, dialect);
    lines.set(spelling, [...(lines.get(spelling) ?? []), errorKinds[code].message]);
  }
  return [...lines].map(([code, messages]) => `\`${code}\`: ${messages.join(' ')}`).join('\n\n');
}

/** The envelope of the dialect, with the codes that are possible here. */
function schemaWith(dialect: Dialect, codes: readonly string[]): Json {
  const code = codes.length === 1 ? { type: 'string', const: codes[0] } : { type: 'string', enum: codes };
  const isFlat = dialect === 'general' || dialect === 'keys' || dialect === 'invocation';
  // The others are named again: some tools take those of one part of `allOf` for all that may be there.
  const error = isFlat ? code : { type: 'object', properties: { message: {}, ...othersOf(dialect), code } };
  return {
    allOf: [
      { $ref: `#/components/schemas/${envelopes[dialect]}` },
      { type: 'object', properties: { error } },
    ],
  };
}

function othersOf(dialect: Dialect): Json {
  if (dialect === 'telemetry') return {};
  return dialect === 'openai' ? { type: {}, param: {} } : { type: {} };
}

const envelopes: Record<Dialect, string> = {
  general: 'Error',
  keys: 'Error',
  invocation: 'Error',
  telemetry: 'TelemetryError',
  openai: 'OpenAiError',
  anthropic: 'AnthropicError',
};

const flatDialects: readonly Dialect[] = ['general', 'keys', 'invocation'];

function errorSchemas(): Readonly<Record<string, Json>> {
  const text = { type: 'string' };
  return {
    ErrorCode: codesIn(flatDialects),
    TelemetryErrorCode: codesIn(['telemetry']),
    Error: {
      type: 'object',
      required: ['error', 'message', 'status'],
      properties: {
        error: { $ref: '#/components/schemas/ErrorCode' },
        message: { ...text, description: 'What is wrong, where, and what to do.' },
        details: {
          type: 'object',
          additionalProperties: true,
          description: 'By code: `field` and `issue` of a request that is not valid, the figures of a limit.',
        },
        status: { type: 'string', const: 'error' },
      },
    },
    TelemetryError: {
      type: 'object',
      required: ['error'],
      properties: {
        error: {
          type: 'object',
          required: ['code', 'message'],
          properties: { code: { $ref: '#/components/schemas/TelemetryErrorCode' }, message: text },
        },
      },
    },
    OpenAiError: {
      type: 'object',
      required: ['error'],
      description: "The error of OpenAI's API, with the platform's own code.",
      properties: {
        error: {
          type: 'object',
          required: ['message', 'type', 'param', 'code'],
          properties: {
            message: text,
            type: text,
            param: { type: ['string', 'null'], description: 'The field that is wrong.' },
            code: { $ref: '#/components/schemas/ErrorCode' },
          },
        },
      },
    },
    AnthropicError: {
      type: 'object',
      required: ['type', 'error', 'request_id'],
      description: "The error of Anthropic's API, with the platform's own code.",
      properties: {
        type: { type: 'string', const: 'error' },
        error: {
          type: 'object',
          required: ['type', 'message', 'code'],
          properties: { type: text, message: text, code: { $ref: '#/components/schemas/ErrorCode' } },
        },
        request_id: text,
      },
    },
  };
}

/** Every code of the dialects, with what it means and what to do. */
function codesIn(dialects: readonly Dialect[]): Json {
  const meanings = new Map<string, string>();
  for (const dialect of dialects) {
    for (const code of Object.keys(errorKinds) as ErrorCode[]) {
      const spelling = spelled(code, dialect);
      const { status, message, advice } = errorKinds[code];
      if (!meanings.has(spelling)) meanings.set(spelling, `${status}. ${message} ${advice}`);
    }
  }
  const sorted = [...meanings].toSorted(([one], [other]) => (one < other ? -1 : 1));
  return {
    type: 'string',
    enum: sorted.map(([code]) => code),
    'x-enumDescriptions': Object.fromEntries(sorted),
  };
}

const detailsOf: Partial<Record<ErrorCode, Json>> = {
  validation_error: { field: 'limit', issue: 'must be a whole number' },
  missing_required_field: { field: 'name', issue: 'required' },
  unknown_field: { field: 'nmae', issue: 'is not a field of this operation' },
  rate_limit_exceeded: { limit: 200, remaining: 0, reset: 1_795_428_060, retry_after: 12 },
  quota_exceeded: { limit: 2_000_000, used: 2_000_000, reset_date: '2026-12-01T00:00:00.000Z' },
  provider_error: { provider: 'openai', original_error: 'The server had an error.' },
  provider_timeout: { provider: 'openai', original_error: 'the call clock ran out' },
  provider_unavailable: { provider: 'openai', original_error: 'The model is overloaded.' },
};

function exampleOf(dialect: Dialect, code: ErrorCode): object {
  const details = detailsOf[code];
  const error = PlatformError.again(code, details === undefined ? {} : { details });
  return envelope(error, dialect, '7f3c2a91-0b5e-4c1d-9a44-6f0d1e2b3c4d');
}
