import test from 'ava';
import { PlatformError } from '../../../src/kernel/errors.js';

test('an error of another service names the service and what it said, whoever made the error', (t) => {
  for (const code of ['provider_error', 'provider_timeout', 'provider_unavailable'] as const) {
    // @ts-expect-error -- the specification promises its details
    t.truthy(new PlatformError(code));
    const older = PlatformError.again(code, { message: 'It broke.', details: { reason: 'broken' } });
    t.deepEqual(older.details, { provider: 'unknown', original_error: 'It broke.', reason: 'broken' });
    const details = { provider: 'mcp.test', original_error: 'closed' };
    t.deepEqual(PlatformError.again(code, { details }).details, details);
  }
  t.is(PlatformError.again('not_found', {}).details, undefined);
});

test('an error about a field names the field and the issue, whoever made the error', (t) => {
  for (const code of ['validation_error', 'unknown_field', 'malformed_body', 'no_message'] as const) {
    // @ts-expect-error -- the specification promises its details
    t.truthy(new PlatformError(code));
    t.deepEqual(PlatformError.again(code, { message: 'It is wrong.' }).details, {
      field: 'request',
      issue: 'It is wrong.',
    });
    const details = { field: 'name', issue: 'is too long' };
    t.deepEqual(PlatformError.again(code, { details }).details, details);
  }
});
