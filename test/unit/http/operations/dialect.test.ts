import test from 'ava';
import { type ErrorCode, PlatformError } from '../../../../src/kernel/errors.js';
import { type Dialect, envelope, spelled, unexpected } from '../../../../src/http/operations/index.js';

const cases: readonly (readonly [Dialect, ErrorCode, string])[] = [
  ['general', 'validation_error', 'validation_error'],
  ['keys', 'validation_error', 'invalid_input'],
  ['keys', 'insufficient_permissions', 'forbidden'],
  ['invocation', 'missing_required_field', 'VALIDATION_ERROR'],
  ['invocation', 'conflict', 'CONFLICT'],
  ['telemetry', 'authentication_required', 'UNAUTHORIZED'],
  ['telemetry', 'tenant_not_found', 'TENANT_NOT_FOUND'],
  ['telemetry', 'missing_tenant', 'MISSING_REQUIRED_FIELD'],
  ['keys', 'missing_tenant', 'missing_required_field'],
  ['general', 'unknown_field', 'validation_error'],
  ['general', 'unknown_parameter', 'validation_error'],
  ['telemetry', 'unknown_parameter', 'VALIDATION_ERROR'],
  ['invocation', 'no_message', 'VALIDATION_ERROR'],
  ['invocation', 'idempotency_key_reused', 'conflict'],
  ['general', 'idempotency_key_reused', 'conflict'],
  ['openai', 'malformed_body', 'validation_error'],
];

test('a body that is not JSON is a validation_error also in dialects with upper-case codes', (t) => {
  t.is(spelled('malformed_body', 'invocation'), 'validation_error');
  t.is(spelled('malformed_body', 'keys'), 'invalid_input');
});

for (const [dialect, inner, code] of cases) {
  test(`in the dialect ${dialect} ${inner} is called ${code}`, (t) => {
    t.is(spelled(inner, dialect), code);
  });
}

test('telemetry has its own envelope, and everything else the general one', (t) => {
  const error = new PlatformError('rate_limit_exceeded', { details: { limit: 1 } });
  t.deepEqual(envelope(error, 'telemetry'), {
    error: { code: 'RATE_LIMIT_EXCEEDED', message: error.message },
  });
  t.deepEqual(envelope(error, 'general'), {
    error: 'rate_limit_exceeded',
    message: error.message,
    details: { limit: 1 },
    status: 'error',
  });
});

test('unforeseen errors are reported in fixed words', (t) => {
  const error = unexpected(new Error('the password is hunter2'));
  t.is(error.status, 500);
  t.false(JSON.stringify(envelope(error, 'general')).includes('hunter2'));
});
