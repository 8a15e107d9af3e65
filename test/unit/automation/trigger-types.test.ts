import { readdirSync, readFileSync } from 'node:fs';
import test from 'ava';
import {
  describedTypes,
  parseTriggerConfig,
} from '../../../src/automation/triggers/config/trigger-config.js';
import { Sources } from '../../../src/automation/sources/sources.js';
import {
  isPolled,
  recordOf,
  takesRequests,
  triggerTypes,
} from '../../../src/automation/triggers/types/registry.js';

const migrations = readdirSync('migrations')
  .filter((name) => name.endsWith('.sql'))
  .map((name) => readFileSync(`migrations/${name}`, 'utf8'))
  .join('\n');

/** The values that the last check constraint on the column allows. */
function allowedIn(column: string): readonly string[] {
  const checks = [...migrations.matchAll(new RegExp(`check \\(${column} in \\(([^)]*)\\)\\)`, 'g'))];
  const lists = checks.map(([, list = '']) => [...list.matchAll(/'(\w+)'/g)].map(([, name = '']) => name));
  return (
    lists.findLast((list) => list.some((name) => (triggerTypes as readonly string[]).includes(name))) ?? []
  );
}

test('the database accepts the trigger types of the registry and no others', (t) => {
  t.deepEqual(allowedIn('trigger_type').toSorted(), [...triggerTypes].toSorted());
});

test('the database accepts a source of each trigger type that is no request', (t) => {
  const sources = triggerTypes.filter((type) => !takesRequests(type));
  t.deepEqual(allowedIn('kind').toSorted(), sources.toSorted());
});

test('each trigger type has a title, a description and a schema of its own', (t) => {
  const types = describedTypes();
  t.deepEqual(
    types.map(({ type }) => type),
    [...triggerTypes],
  );
  for (const part of ['title', 'description', 'config_schema'] as const) {
    t.is(new Set(types.map((one) => JSON.stringify(one[part]))).size, types.length, part);
  }
});

test('mail is polled in a mailbox, and pushed to the address of the trigger', (t) => {
  const imap = { host: 'mail.example.com', user: 'u', secret_ref: 's' };
  t.true(isPolled(parseTriggerConfig('email', { imap })));
  t.false(isPolled(parseTriggerConfig('email', {})));
  t.false(isPolled(parseTriggerConfig('webhook', {})));
});

test('only a schedule knows its next runs', (t) => {
  const knowing = triggerTypes.filter((type) => recordOf(type).nextRuns !== undefined);
  t.deepEqual(knowing, ['schedule']);
});

test('a node does not start without a source for each trigger type that takes no requests', (t) => {
  const missing = t.throws(() => new Sources([]).requireAll());
  for (const type of triggerTypes) t.is(missing?.message.includes(type), !takesRequests(type), type);
});
