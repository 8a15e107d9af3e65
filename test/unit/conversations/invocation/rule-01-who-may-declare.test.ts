import test from 'ava';
import { privilegesOf } from '../../../../src/conversations/invocation/index.js';
import type { KeyCaller, Role, TenantUserCaller } from '../../../../src/kernel/caller.js';
import { tenantScope } from '../../../../src/kernel/tenant-scope.js';
import { ignored, person, read } from './reading.js';

const caller = {
  address: '127.0.0.1',
  scope: tenantScope('00000000-0000-4000-8000-000000000001'),
  limits: { plan: 'pro', requestsPerMinute: 1, requestsPerDay: 1, monthlyTokens: 1, keyRpmMax: 1 },
} as const;
const key = (role: Role): KeyCaller => ({
  ...caller,
  kind: 'key',
  keyId: 'k',
  role,
  requestsPerMinute: 1,
  quotaLimit: null,
});
const user = (role: Role): TenantUserCaller => ({
  ...caller,
  kind: 'tenant-user',
  userId: 'u',
  familyId: undefined,
  expiresAtMs: 1,
  role,
});

test('only an API key of an owner or admin speaks for an integration', (t) => {
  for (const role of ['owner', 'admin'] as const) t.true(privilegesOf(key(role)).integration, role);
  for (const role of ['editor', 'member'] as const) t.false(privilegesOf(key(role)).integration, role);
  for (const role of ['owner', 'admin', 'editor', 'member'] as const)
    t.false(privilegesOf(user(role)).integration, `a user who is ${role}`);
  t.false(privilegesOf({ kind: 'operator', address: '' }).integration);
});

const declared = {
  context: { city: 'Lima' },
  bindings: { id: 1 },
  session_from: ['city'],
  consumer_key: 'c-1',
  consumer_display_name: 'Ada',
};

test('without the privilege, what an integration declares is ignored, listed, and raises no error', (t) => {
  const turn = read({ ...declared, metadata: { a: 1 } }, person);
  t.deepEqual(ignored(turn), {
    context: 'requires_admin_api_key',
    bindings: 'requires_admin_api_key',
    session_from: 'requires_admin_api_key',
    consumer_key: 'requires_admin_api_key',
  });
  t.deepEqual(turn.acceptedFields, ['message', 'metadata']);
  t.deepEqual(turn.context, {});
  t.deepEqual(turn.bindings, {});
  t.is(turn.derivedFrom, undefined);
  t.is(turn.consumerKey, undefined);
  t.is(turn.consumerDisplayName, undefined, 'it falls with consumer_key');
});

test('with the privilege, all of it takes effect', (t) => {
  const turn = read(declared);
  t.deepEqual(turn.ignoredFields, []);
  t.deepEqual(turn.acceptedFields, [
    'message',
    'consumer_key',
    'context',
    'bindings',
    'session_from',
    'consumer_display_name',
  ]);
});

test('without the privilege a display name alone is not listed', (t) => {
  t.deepEqual(read({ consumer_display_name: 'Ada' }, person).ignoredFields, []);
});

test('fields ignored for lack of privilege are not validated', (t) => {
  const session = '7a8b9802-3649-405e-9bb3-167e171bfe87';
  const turn = read(
    {
      session_id: session,
      context: { nested: {} },
      bindings: 7,
      session_from: [],
      consumer_key: 5,
      consumer_display_name: {},
    },
    person,
  );
  t.is(turn.ignoredFields.length, 4);
  t.is(turn.sessionId, session);
});
