// Each refusal in the form that the client of its path reads, whatever refuses it.
import { connect } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { z } from 'zod';
import { PlatformError } from '../../../../src/kernel/errors.js';
import { anyone, apiKey, declare, type Dialect } from '../../../../src/http/operations/index.js';
import { startEdge } from '../../../support/servers/edge.js';

const body = z.looseObject({ model: z.string() });
const common = { title: 'x', access: anyone(), output: z.unknown(), handle: () => ({}) } as const;
const limited = { ...common, body, bodyRules: { maxBytes: 100 }, method: 'POST' } as const;

const operations = [
  declare({ ...limited, name: 'a.chat', path: '/v1/chat/completions', dialect: 'openai' }),
  declare({ ...limited, name: 'a.messages', path: '/v1/messages', dialect: 'anthropic' }),
  declare({ ...common, name: 'a.models', method: 'GET', path: '/v1/models', dialect: 'openai' }),
  declare({ ...common, name: 'a.agents', method: 'GET', path: '/api/agents', access: apiKey(null) }),
  declare({ ...limited, name: 'a.create', path: '/api/agents' }),
  declare({
    ...common,
    name: 'a.metrics',
    method: 'GET',
    path: '/api/telemetry/metrics',
    dialect: 'telemetry',
  }),
];

const anthropic = { 'anthropic-version': '2023-06-01' };

const paths: readonly (readonly [path: string, headers: Record<string, string>, dialect: Dialect])[] = [
  ['/v1/chat/completions', {}, 'openai'],
  ['/v1/chat/completions', anthropic, 'openai'],
  ['/v1/chat/complete', {}, 'openai'],
  ['/v1/completions', {}, 'openai'],
  ['/v1/embeddings', {}, 'openai'],
  ['/v1/responses/abc', {}, 'openai'],
  ['/v1/models', {}, 'openai'],
  ['/v1/models', anthropic, 'anthropic'],
  ['/v1/models/gpt-5', {}, 'openai'],
  ['/v1/models/claude', anthropic, 'anthropic'],
  ['/v1/messages', {}, 'anthropic'],
  ['/v1/messages/count_tokens', {}, 'anthropic'],
  ['/v1/messages/batches', anthropic, 'anthropic'],
  ['/v1', {}, 'openai'],
  ['/v1/nothing', {}, 'openai'],
  ['/v1/nothing', anthropic, 'anthropic'],
  ['/v1x/messages', anthropic, 'general'],
  ['/api/agents', anthropic, 'general'],
  ['/api/nothing', {}, 'general'],
  ['/api/v1/messages', anthropic, 'general'],
  ['/api/telemetry/metrics', {}, 'telemetry'],
  ['/api/telemetry/nothing', {}, 'telemetry'],
  ['/nothing', {}, 'general'],
];

function formOf(json: unknown): Dialect | undefined {
  const { error, type, status } = json as Record<string, unknown>;
  if (typeof error === 'string') return status === 'error' ? 'general' : undefined;
  if (typeof error !== 'object' || error === null) return undefined;
  const fields = Object.keys(error).toSorted().join();
  if (type === 'error' && fields === 'code,message,type') return 'anthropic';
  if (type !== undefined) return undefined;
  return fields === 'code,message,param,type'
    ? 'openai'
    : fields === 'code,message'
      ? 'telemetry'
      : undefined;
}

function codeOf(json: unknown): string {
  const { error } = json as { error: string | { code: string } };
  return (typeof error === 'string' ? error : error.code).toLowerCase();
}

type Asked = readonly [path: string, init: RequestInit, dialect: Dialect, status: number, code: string];

async function expectForms(t: ExecutionContext, url: string, asked: readonly Asked[]): Promise<void> {
  for (const [path, init, dialect, status, code] of asked) {
    const response = await fetch(url + path, init);
    const json: unknown = await response.json();
    const about = `${init.method ?? 'GET'} ${path} ${JSON.stringify(init.headers)}: ${JSON.stringify(json)}`;
    t.is(response.status, status, about);
    t.is(formOf(json), dialect, about);
    t.is(codeOf(json), code, about);
  }
}

test('unknown paths and wrong methods', async (t) => {
  const edge = await startEdge(operations);
  t.teardown(edge.close);
  const known = new Set(operations.map(({ path }) => path));
  await expectForms(
    t,
    edge.url,
    paths.map(([path, headers, dialect]): Asked => {
      const found = known.has(path);
      return [
        path,
        { method: 'DELETE', headers },
        dialect,
        found ? 405 : 404,
        found ? 'method_not_allowed' : 'not_found',
      ];
    }),
  );
});

test('bodies that are too large, are not JSON, or have another type', async (t) => {
  const edge = await startEdge(operations);
  t.teardown(edge.close);
  const post = (text: string, type = 'application/json'): RequestInit => ({
    method: 'POST',
    body: text,
    headers: { 'content-type': type },
  });
  const routes = [
    ['/v1/chat/completions', 'openai'],
    ['/v1/messages', 'anthropic'],
    ['/api/agents', 'general'],
  ] as const;
  await expectForms(
    t,
    edge.url,
    routes.flatMap(([path, dialect]): Asked[] => [
      [path, post(`"${'x'.repeat(200)}"`), dialect, 413, 'payload_too_large'],
      [path, post('{'), dialect, 400, 'validation_error'],
      [path, post('{}'), dialect, 400, 'missing_required_field'],
      [path, post('a=b', 'text/plain'), dialect, 415, 'unsupported_media_type'],
    ]),
  );
});

for (const [code, status] of [
  ['authentication_required', 401],
  ['rate_limit_exceeded', 429],
  ['internal_error', 500],
] as const) {
  test(`refusals before the handler: ${code}`, async (t) => {
    const thrown = code === 'internal_error' ? new Error('a bug') : new PlatformError(code);
    const refusing = {
      authenticate: () => {
        throw thrown;
      },
    };
    const edge = await startEdge(operations, { authenticator: refusing });
    t.teardown(edge.close);
    const post = { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } };
    await expectForms(t, edge.url, [
      ['/v1/chat/completions', post, 'openai', status, code],
      ['/v1/messages', post, 'anthropic', status, code],
      ['/v1/models', {}, 'openai', status, code],
      ['/v1/models', { headers: anthropic }, 'anthropic', status, code],
      ['/api/agents', {}, 'general', status, code],
      [
        '/api/telemetry/metrics',
        {},
        'telemetry',
        status,
        code === 'authentication_required' ? 'unauthorized' : code,
      ],
    ]);
  });
}

test('a client that requests unknown paths too often', async (t) => {
  const figures = { limit: 1, remaining: 0, reset: 1 };
  const full = {
    admitRequest: () => ({ figures, refusal: new PlatformError('rate_limit_exceeded') }),
    admitModelWork: () => ({ figures }),
    noteRefusedWork: () => undefined,
    figuresOfAddress: () => figures,
  };
  const edge = await startEdge(operations, { admission: full });
  t.teardown(edge.close);
  await expectForms(
    t,
    edge.url,
    paths.map(([path, headers, dialect]): Asked => [
      path,
      { method: 'DELETE', headers },
      dialect,
      429,
      'rate_limit_exceeded',
    ]),
  );
});

test('a request with ambiguous framing', async (t) => {
  const edge = await startEdge(operations);
  t.teardown(edge.close);
  for (const [path, dialect] of [
    ['/v1/messages', 'anthropic'],
    ['/v1/chat/completions', 'openai'],
    ['/api/agents', 'general'],
  ] as const) {
    const answer = await raw(
      edge.port,
      `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\n{}`,
    );
    t.regex(answer, /^HTTP\/1\.1 400 /, path);
    t.is(formOf(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')))), dialect, answer);
  }
});

function raw(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = '';
    const socket = connect(port, '127.0.0.1', () => socket.write(text));
    socket.setEncoding('utf8');
    socket.on('data', (piece: string) => (answer += piece));
    socket.on('end', () => resolve(answer));
    socket.on('error', reject);
  });
}
