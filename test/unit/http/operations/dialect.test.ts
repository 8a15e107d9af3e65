import test from 'ava';
import { PlatformError } from '../../../../src/kernel/errors.js';
import {
  codeOf,
  codesOf,
  type Dialect,
  envelope,
  unexpected,
} from '../../../../src/http/operations/index.js';

const noJson = new PlatformError('validation_error', { details: { field: 'body', issue: 'no JSON' } });

const cases: readonly (readonly [Dialect, PlatformError, string])[] = [
  ['general', new PlatformError('validation_error'), 'validation_error'],
  ['keys', new PlatformError('validation_error'), 'invalid_input'],
  ['keys', new PlatformError('insufficient_permissions'), 'forbidden'],
  ['invocation', new PlatformError('missing_required_field'), 'VALIDATION_ERROR'],
  ['invocation', new PlatformError('conflict'), 'CONFLICT'],
  ['telemetry', new PlatformError('authentication_required'), 'UNAUTHORIZED'],
  ['telemetry', new PlatformError('tenant_not_found'), 'TENANT_NOT_FOUND'],
];

test('a body that is no JSON is a validation_error even where fields are refused in capitals', (t) => {
  t.is(codeOf(noJson, 'invocation'), 'validation_error');
  t.is(codeOf(noJson, 'keys'), 'invalid_input');
  t.deepEqual(codesOf('validation_error', 'invocation'), ['VALIDATION_ERROR', 'validation_error']);
  t.deepEqual(codesOf('validation_error', 'keys'), ['invalid_input']);
});

for (const [dialect, error, code] of cases) {
  test(`in the dialect ${dialect} ${error.code} is called ${code}`, (t) => {
    t.is(dialect === 'telemetry' ? codeOf(error, dialect).toUpperCase() : codeOf(error, dialect), code);
  });
}

test('telemetry has an envelope of its own, and everything else the general one', (t) => {
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

test('what nobody foresaw is told in fixed words', (t) => {
  const error = unexpected(new Error('the password is hunter2'));
  t.is(error.status, 500);
  t.false(JSON.stringify(envelope(error, 'general')).includes('hunter2'));
});
