import test from 'ava';
import { adaptersByVendor, VendorError, type FailureClass } from '../../../src/llm/index.js';
import { bedrockAdapter } from '../../../src/llm/clouds/bedrock/adapter.js';
import { platformFailure } from '../../../src/models/calls/platform-failure.js';

const adapters = adaptersByVendor([]);

type Case = readonly [string, number, unknown, FailureClass, Readonly<Record<string, string>>?];

const chatError = (code: string | null, message = 'no', type = 'invalid_request_error'): unknown => ({
  error: { message, type, param: null, code },
});
const claudeError = (type: string, message = 'no'): unknown => ({ type: 'error', error: { type, message } });
const geminiError = (code: number, status: string, message = 'no', details: unknown[] = []): unknown => ({
  error: { code, status, message, details },
});

const cases: readonly Case[] = [
  ['openai', 401, chatError('invalid_api_key'), 'credential'],
  ['openai', 403, chatError('unsupported_country'), 'credential'],
  ['openai', 429, chatError('rate_limit_exceeded', 'slow down', 'requests'), 'rate'],
  ['openai', 429, chatError('insufficient_quota', 'check your plan', 'insufficient_quota'), 'exhausted'],
  ['openai', 400, chatError('context_length_exceeded'), 'context_overflow'],
  [
    'openai',
    400,
    chatError(null, "This model's maximum context length is 128000 tokens"),
    'context_overflow',
  ],
  ...(
    [
      ['messages[1].tool_calls[0].id', 'request'],
      ['messages[1].tool_call_id', 'request'],
      ['tools[0].function.name', 'request'],
      ['messages[0].content', 'context_overflow'],
      ['messages[0].content[1].text', 'context_overflow'],
      ['input[3]', 'context_overflow'],
    ] as const
  ).map(([param, failure]): Case => {
    const error = { message: `Invalid '${param}': string too long.`, code: 'string_above_max_length' };
    return ['openai', 400, { error: { ...error, param } }, failure];
  }),
  [
    'openai',
    400,
    chatError('string_above_max_length', "Invalid 'tools[0].function.name': too long"),
    'request',
  ],
  ['openai', 400, chatError('string_above_max_length'), 'context_overflow'],
  ['openai', 400, chatError('content_policy_violation'), 'policy'],
  ['openai', 400, chatError('unsupported_parameter'), 'request'],
  [
    'openai',
    403,
    chatError('model_not_found', 'Project p does not have access to model `m`'),
    'model_refused',
  ],
  ['openai', 404, chatError('model_not_found'), 'model_refused'],
  ['openai', 404, chatError(null, 'no such file'), 'request'],
  ['openai', 408, chatError(null), 'overload'],
  ['openai', 409, chatError(null), 'overload'],
  ['openai', 500, chatError(null, 'oops', 'server_error'), 'overload'],
  ['openai', 502, '<html>bad gateway</html>', 'overload'],
  ['openai', 301, '', 'nonsense'],
  ['xai', 422, { error: 'Failed to deserialize the JSON body', code: 'invalid' }, 'request'],
  ['openrouter', 402, chatError(null, 'Insufficient credits'), 'credential'],
  ['openrouter', 402, chatError(null, 'Key limit'), 'rate', { 'retry-after': '5' }],
  [
    'openrouter',
    403,
    { error: { code: 403, message: 'flagged', metadata: { reasons: ['violence'] } } },
    'policy',
  ],
  ['openrouter', 503, { error: { code: 503, message: 'no provider' } }, 'overload'],
  [
    'anthropic',
    400,
    claudeError('invalid_request_error', 'prompt is too long: 210000 tokens'),
    'context_overflow',
  ],
  ['anthropic', 400, claudeError('invalid_request_error', 'Your credit balance is too low'), 'exhausted'],
  ['anthropic', 400, claudeError('invalid_request_error'), 'request'],
  ['anthropic', 401, claudeError('authentication_error'), 'credential'],
  ['anthropic', 402, claudeError('billing_error'), 'exhausted'],
  ['anthropic', 404, claudeError('not_found_error', 'model: claude-9'), 'model_refused'],
  ['anthropic', 404, claudeError('not_found_error', 'no such file'), 'request'],
  ['anthropic', 413, claudeError('request_too_large'), 'request'],
  ['anthropic', 429, claudeError('rate_limit_error'), 'rate', { 'retry-after': '5' }],
  ['anthropic', 504, claudeError('timeout_error'), 'overload'],
  ['anthropic', 529, claudeError('overloaded_error'), 'overload'],
  [
    'google',
    400,
    geminiError(400, 'INVALID_ARGUMENT', 'API key not valid. Please pass a valid API key.'),
    'credential',
  ],
  ['google', 400, geminiError(400, 'INVALID_ARGUMENT', 'x', [{ reason: 'API_KEY_INVALID' }]), 'credential'],
  [
    'google',
    400,
    geminiError(400, 'INVALID_ARGUMENT', 'The input token count (2000000) exceeds the maximum'),
    'context_overflow',
  ],
  ['google', 400, geminiError(400, 'INVALID_ARGUMENT'), 'request'],
  ['google', 429, geminiError(429, 'RESOURCE_EXHAUSTED'), 'rate'],
  [
    'google',
    429,
    geminiError(429, 'RESOURCE_EXHAUSTED', 'x', [{ violations: [{ quotaId: 'RequestsPerDayPerProject' }] }]),
    'exhausted',
  ],
  [
    'google',
    429,
    geminiError(429, 'RESOURCE_EXHAUSTED', 'a model', [
      { violations: [{ quotaId: 'GenerateRequestsPerDayPerProjectPerModel-FreeTier' }] },
    ]),
    'model_refused',
  ],
  [
    'google',
    429,
    geminiError(429, 'RESOURCE_EXHAUSTED', 'all models', [
      {
        violations: [{ quotaId: 'RequestsPerDayPerProjectPerModel' }, { quotaId: 'TokensPerDayPerProject' }],
      },
    ]),
    'exhausted',
  ],
  ['google', 503, geminiError(503, 'UNAVAILABLE'), 'overload'],
  ['google', 500, [geminiError(500, 'INTERNAL')], 'overload'],
];

function mapped(
  vendor: string,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): VendorError {
  const adapter = adapters.get(vendor);
  if (adapter === undefined) throw new Error(vendor);
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return adapter.mapError({ status, headers, body: text, nowMs: Date.parse('2026-11-01T00:00:00Z') });
}

const bedrock = bedrockAdapter('bedrock');
const bedrockCases: readonly (readonly [number, string, string, FailureClass])[] = [
  [
    403,
    'AccessDeniedException',
    "You don't have access to the model with the specified model ID.",
    'model_refused',
  ],
  [
    403,
    'AccessDeniedException',
    'User: arn:aws:iam::1:user/u is not authorized to perform: bedrock:InvokeModel on resource: arn:aws:bedrock:eu-west-1::foundation-model/m',
    'model_refused',
  ],
  [
    403,
    'AccessDeniedException',
    'Authentication failed: Please make sure your API Key is valid.',
    'credential',
  ],
  [
    403,
    'UnrecognizedClientException',
    'The security token included in the request is invalid.',
    'credential',
  ],
  [404, 'ResourceNotFoundException', 'This model version has reached the end of its life.', 'model_refused'],
];

for (const [status, type, message, failure] of bedrockCases) {
  test(`bedrock: ${type} with ${message.slice(0, 60)} is ${failure}`, (t) => {
    const headers = { 'x-amzn-errortype': `${type}:http://internal.amazon.com/` };
    const reply = { status, headers, body: JSON.stringify({ message }), nowMs: 0 };
    t.is(bedrock.mapError(reply).failure, failure);
  });
}

for (const [vendor, status, body, failure, headers] of cases) {
  test(`${vendor}: ${status} with ${JSON.stringify(body).slice(0, 110)} is ${failure}${headers === undefined ? '' : ' with a time'}`, (t) => {
    t.is(mapped(vendor, status, body, headers).failure, failure);
  });
}

test('a retry time is read in every form', (t) => {
  const body = chatError(null);
  t.is(mapped('openai', 429, body, { 'retry-after': '7' }).retryAfterMs, 7000);
  t.is(mapped('openai', 429, body, { 'retry-after': '0.5' }).retryAfterMs, 500);
  t.is(mapped('openai', 429, body, { 'retry-after': '7', 'retry-after-ms': '250' }).retryAfterMs, 250);
  t.is(mapped('openai', 503, body, { 'retry-after': 'Sun, 01 Nov 2026 00:00:09 GMT' }).retryAfterMs, 9000);
  t.is(mapped('openai', 503, body, { 'retry-after': 'soon' }).retryAfterMs, undefined);
  const delay = [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '34.5s' }];
  t.is(mapped('google', 429, geminiError(429, 'RESOURCE_EXHAUSTED', 'x', delay)).retryAfterMs, 34_500);
});

test("a vendor's statement that a retry is pointless is respected", (t) => {
  t.true(mapped('openai', 500, chatError(null), { 'x-should-retry': 'false' }).neverRetry);
  t.true(mapped('anthropic', 429, claudeError('rate_limit_error')).neverRetry);
  t.false(mapped('anthropic', 429, claudeError('rate_limit_error'), { 'retry-after': '1' }).neverRetry);
});

test('no error contains a key of any shape, or a known secret in any encoding', (t) => {
  const shapes = [
    'sk-proj-abcdefghij1234567890',
    'sk-ant-api03-abcdefghijk',
    'xai-abcdefghijklmnop',
    'AIzaSyA1234567890abcdefg',
    'svc_live_0123456789abcdef',
    'Bearer abcdef1234567890abcdef',
    'x-api-key: 0123456789abcdef0123',
    'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc',
  ];
  for (const shape of shapes) {
    const error = mapped(
      'openai',
      401,
      chatError('invalid_api_key', `Incorrect API key provided: ${shape}. You can find`),
    );
    t.true(error.message.includes('[REDACTED]'), shape);
    t.false(error.message.includes(shape.slice(-8)), error.message);
  }
  const secret = 'odd secret/with+signs';
  const text = `a ${secret} b ${encodeURIComponent(secret)} c ${Buffer.from(secret).toString('base64')}`;
  const clean = new VendorError('request', text, { vendor: 'x', cause: new Error(secret) }).without(secret);
  t.is(clean.message, 'a [REDACTED] b [REDACTED] c [REDACTED]');
  t.is(clean.cause, undefined);
});

test('an error is bounded, and its ordinary words stay', (t) => {
  const error = mapped('openai', 400, 'x'.repeat(100_000));
  t.true(error.message.length <= 500);
  const plain = mapped(
    'openai',
    400,
    chatError('bad', 'The key "temperature" must be between 0 and 2, not 3.'),
  );
  t.is(plain.message, 'The key "temperature" must be between 0 and 2, not 3.');
});

test('callers see provider errors by kind, with the reason and the vendor', (t) => {
  const seen = (
    failure: FailureClass,
    context: { status?: number; code?: string; retryAfterMs?: number } = {},
  ) => {
    const error = platformFailure(new VendorError(failure, 'why', { vendor: 'openai', ...context }));
    return [error.code, error.status, error.details?.['original_error'], error.retryAfterSeconds];
  };
  t.deepEqual(seen('request', { status: 400 }), ['provider_error', 502, 'why', undefined]);
  t.deepEqual(seen('nonsense'), ['provider_error', 502, 'why', undefined]);
  t.deepEqual(seen('overload', { status: 500 }), ['provider_error', 502, 'why', undefined]);
  t.deepEqual(seen('overload', { status: 503 }), ['provider_unavailable', 503, 'why', 1]);
  t.deepEqual(seen('rate', { retryAfterMs: 4200 }), ['provider_unavailable', 503, 'why', 5]);
  t.deepEqual(seen('transport', { code: 'unreachable' }), ['provider_unavailable', 503, 'why', 1]);
  t.deepEqual(seen('transport'), ['provider_error', 502, 'why', undefined]);
  t.deepEqual(seen('timeout'), ['provider_timeout', 504, 'why', undefined]);
});

test('what fails again tells clients not to ask again', (t) => {
  const isLast = (failure: FailureClass): boolean =>
    platformFailure(new VendorError(failure, 'why', { vendor: 'openai' })).headers['X-Should-Retry'] ===
    'false';
  const keys = ['credential', 'exhausted', 'model_refused'] as const;
  const last = ['request', 'context_overflow', 'policy', 'too_large', ...keys] as const;
  const passing = ['overload', 'transport', 'nonsense', 'rate', 'timeout', 'unavailable'] as const;
  t.deepEqual([last.filter(isLast), passing.filter(isLast)], [[...last], []]);
});
