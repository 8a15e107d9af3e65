import test from 'ava';
import { ignored, read } from './reading.js';

const reserved =
  'tenant_id, agent_id, user_id, source, trigger_id, execution_id, api_key_id, session_id, agent_execution_id, ' +
  'root_execution_id, trigger_execution_id, approval_gate, auth_source, consumer_key, _webhookContext, ' +
  '_agent_depth, parent_agent_id, parent_session_id, parent_execution_id, consumer_display_name, ' +
  'consumer_channel, _client_blocks, process, _process_agent_step, process_instance_id, process_activity_id, ' +
  'builder_session_id, builder_target_agent_id, branch, databaseConfig, tier';

test('each reserved name is dropped from the context and reported', (t) => {
  const names = reserved.split(', ');
  t.is(names.length, 31);
  for (const name of names) {
    const turn = read({ context: { [name]: 'x', city: 'Lima' } });
    t.deepEqual(turn.context, { city: 'Lima' }, name);
    t.deepEqual(turn.ignoredFields, [{ field: `context.${name}`, reason: 'reserved_key' }]);
  }
});

test('a reserved name is dropped whatever its value', (t) => {
  const turn = read({ context: { tenant_id: { nested: [] }, source: 'x'.repeat(5_000) } });
  t.deepEqual(turn.context, {});
  t.deepEqual(turn.acceptedFields, ['message']);
});

test('names that differ in case or in one character are not reserved', (t) => {
  t.deepEqual(read({ context: { Tenant_id: 1, tiers: 2 } }).context, { Tenant_id: 1, tiers: 2 });
});

test('names that reach a prototype are accepted nowhere', (t) => {
  const evil = '{"__proto__":{"polluted":true},"constructor":{"prototype":{}},"prototype":1,"ok":1}';
  const turn = read(
    `{"message":"hi","context":${evil},"bindings":${evil},"metadata":${evil},` +
      `"options":{"__proto__":{"timeout_ms":5000}},"capabilities":{"__proto__":{"blocks":["quick_replies"]}},` +
      `"__proto__":{"message":"other"}}`,
  );
  for (const object of [turn.context, turn.bindings, turn.metadata, turn.declaredContext]) {
    t.deepEqual(Object.getOwnPropertyNames(object), ['ok']);
    t.is(Object.getPrototypeOf(object), Object.prototype);
    t.false('polluted' in object);
  }
  t.is(turn.timeoutMs, undefined);
  t.false(turn.capabilities.quickReplies);
  const reasons = ignored(turn);
  for (const holder of ['context', 'bindings', 'metadata'])
    for (const name of ['__proto__', 'constructor', 'prototype'])
      t.is(reasons[`${holder}.${name}`], 'reserved_key', `${holder}.${name}`);
});
