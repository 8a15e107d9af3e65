import test from 'ava';
import fc from 'fast-check';
import { chatToolFields, readInvocation } from '../../../../src/conversations/invocation/index.js';
import { PlatformError } from '../../../../src/kernel/errors.js';
import { ignored, integration, person, read, refused } from './reading.js';

test('a message alone is a turn', (t) => {
  const turn = read({ message: ' hello ' });
  t.is(turn.message, ' hello ');
  t.deepEqual(turn.acceptedFields, ['message']);
  t.deepEqual(turn.ignoredFields, []);
});

test('a message is required, is a text, and has at most 1,048,576 characters', (t) => {
  for (const wrong of [undefined, '', ' \n', 1, null, {}, []]) refused(t, { message: wrong }, 'message');
  t.notThrows(() => read({ message: 'x'.repeat(1_048_576) }));
  refused(t, { message: 'x'.repeat(1_048_577) }, 'message');
  for (const body of [null, [], 'x', 1, undefined])
    t.throws(() => readInvocation(body, integration), { instanceOf: PlatformError });
});

test('unknown fields of the body are listed, and the turn runs', (t) => {
  const turn = read({ files: [], temperature: 1 }, person);
  t.deepEqual(ignored(turn), { files: 'unknown_field', temperature: 'unknown_field' });
});

test('a body of thousands of unknown fields is answered with a bounded list', (t) => {
  const fields = Object.fromEntries(
    Array.from({ length: 5_000 }, (_, index) => [`${index}-${'x'.repeat(300)}`, 1]),
  );
  const { ignoredFields } = read(fields);
  t.is(ignoredFields.length, 100);
  t.true(ignoredFields.every(({ field }) => field.length <= 161));
});

test('fields that the platform knows are listed behind any number of unknown ones', (t) => {
  const unknown = Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`unknown-${index}`, 1]));
  const known = {
    context: { city: 'Lima' },
    bindings: { id: 1 },
    session_from: ['city'],
    consumer_key: 'c-1',
    metadata: { constructor: 1 },
    capabilities: { ...unknown, blocks: ['cards'] },
    options: { ...unknown, timeout_ms: 5, response_format: {} },
  };
  const turn = read({ ...unknown, ...known }, person);
  t.is(turn.ignoredFields.filter(({ field }) => field.includes('unknown-')).length, 100);
  t.like(ignored(turn), {
    context: 'requires_admin_api_key',
    bindings: 'requires_admin_api_key',
    session_from: 'requires_admin_api_key',
    consumer_key: 'requires_admin_api_key',
    'metadata.constructor': 'reserved_key',
    'capabilities.blocks.cards': 'not_supported',
    'options.timeout_ms': 'not_supported',
    'options.response_format': 'requires_admin_api_key',
  });
  const reserved = Object.fromEntries(['tenant_id', 'tier', 'branch'].map((name) => [name, 1]));
  t.like(ignored(read({ ...unknown, context: reserved })), {
    'context.tenant_id': 'reserved_key',
    'context.tier': 'reserved_key',
    'context.branch': 'reserved_key',
  });
});

test('the chat tool has neither capabilities nor display names', (t) => {
  const body = {
    message: 'hi',
    capabilities: 5,
    consumer_key: 'c-1',
    consumer_display_name: 5,
    options: { timeout_ms: 2_000 },
  };
  const turn = readInvocation(body, integration, chatToolFields);
  t.deepEqual(ignored(turn), { capabilities: 'unknown_field', consumer_display_name: 'unknown_field' });
  t.deepEqual(turn.acceptedFields, ['message', 'consumer_key', 'options.timeout_ms']);
});

test('any input is read or refused as invalid, and no name reaches a prototype', (t) => {
  const names = fc.constantFrom(
    'message',
    'session_id',
    'consumer_key',
    'context',
    'bindings',
    'session_from',
    'metadata',
    'consumer_display_name',
    'capabilities',
    'options',
    '__proto__',
  );
  fc.assert(
    fc.property(fc.dictionary(names, fc.jsonValue()), fc.boolean(), (fields, privileged) => {
      const body: unknown = JSON.parse(JSON.stringify({ message: 'hi', ...fields }));
      try {
        readInvocation(body, { integration: privileged });
      } catch (error) {
        if (!(error instanceof PlatformError) || error.code !== 'validation_error') throw error;
      }
      return !('polluted' in {});
    }),
  );
  t.pass();
});
