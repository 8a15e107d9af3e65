import { randomUUID } from 'node:crypto';
import test from 'ava';
import { type AgentsBench, idOf, startAgents } from '../../support/servers/agents.js';
import { databaseOfFile } from '../../support/database/database.js';

const database = databaseOfFile(test);
let bench: AgentsBench;

test.serial.before(async () => {
  bench = await startAgents(database);
});

async function newOwner() {
  return bench.person(await bench.newTenant(), 'owner');
}

const wrongBodies: readonly (readonly [string, unknown, string])[] = [
  ['missing_required_field', {}, 'name'],
  ['validation_error', { name: null }, 'name'],
  ['validation_error', { name: '' }, 'name'],
  ['validation_error', { name: 'with space' }, 'name'],
  ['validation_error', { name: '-first' }, 'name'],
  ['validation_error', { name: 'x'.repeat(101) }, 'name'],
  ['validation_error', { name: 7 }, 'name'],
  ['validation_error', { name: 'a', commercial_name: 'x'.repeat(256) }, 'commercial_name'],
  ['validation_error', { name: 'a', bio: 'x'.repeat(10_001) }, 'bio'],
  ['validation_error', { name: 'a', type: 'robot' }, 'type'],
  ['validation_error', { name: 'a', visibility: 'world' }, 'visibility'],
  ['validation_error', { name: 'a', chat_enabled: 'yes' }, 'chat_enabled'],
  ['validation_error', { name: 'a', tags: 'one' }, 'tags'],
  ['validation_error', { name: 'a', tags: Array<string>(51).fill('t') }, 'tags'],
  ['validation_error', { name: 'a', tags: ['x'.repeat(65)] }, 'tags.0'],
  ['validation_error', { name: 'a', llm_config: 'auto' }, 'llm_config'],
  ['validation_error', { name: 'a', llm_config: { temperature: 2.1 } }, 'llm_config.temperature'],
  ['validation_error', { name: 'a', llm_config: { temperature: -0.1 } }, 'llm_config.temperature'],
  ['validation_error', { name: 'a', llm_config: { max_tokens: 0 } }, 'llm_config.max_tokens'],
  ['validation_error', { name: 'a', llm_config: { max_tool_rounds: 0 } }, 'llm_config.max_tool_rounds'],
  ['validation_error', { name: 'a', llm_config: { fallback_models: [''] } }, 'llm_config.fallback_models.0'],
  ['validation_error', { name: 'a', llm_config: { temprature: 1 } }, 'llm_config.temprature'],
  ['validation_error', { name: 'a', metadata: [] }, 'metadata'],
  ['validation_error', { name: 'a', metadata: { big: 'x'.repeat(65_537) } }, 'metadata'],
  ['validation_error', { name: 'a', metadata: { memory: { enabled: 'yes' } } }, 'metadata.memory.enabled'],
  ['validation_error', { name: 'a', metadata: { intent_check: 'guess' } }, 'metadata.intent_check'],
  ['validation_error', '{"name": "a", "metadata": {"__proto__": {"x": 1}}}', 'metadata.__proto__'],
  ['validation_error', '{"name": "a\\u0000b"}', 'name'],
  ['validation_error', '[]', 'body'],
];

for (const [error, body, field] of wrongBodies) {
  test(`creation refuses ${JSON.stringify(body).slice(0, 90)}, naming ${field}`, async (t) => {
    const refused = await (await newOwner()).call('POST', '/api/agents', body);
    t.is(refused.status, 400);
    t.like(refused.body, { error, status: 'error', details: { field } });
  });
}

test('malformed, unknown and foreign ids all get 404 agent_not_found', async (t) => {
  const owner = await newOwner();
  const foreign = idOf(await (await newOwner()).call('POST', '/api/agents', { name: 'foreign' }));
  for (const id of ['nonsense', '%00', randomUUID(), foreign]) {
    for (const [method, path] of [
      ['GET', ''],
      ['PATCH', ''],
      ['DELETE', ''],
      ['POST', '/publish'],
      ['POST', '/unpublish'],
      ['POST', '/restore'],
    ] as const) {
      const reply = await owner.call(method, `/api/agents/${id}${path}`, method === 'GET' ? undefined : {});
      t.is(reply.status, 404, `${method} ${path} of ${id}`);
      t.is(reply.body['error'], id === '%00' ? 'not_found' : 'agent_not_found');
    }
  }
});

test('a patch to an existing name is a conflict', async (t) => {
  const owner = await newOwner();
  await owner.call('POST', '/api/agents', { name: 'taken' });
  const id = idOf(await owner.call('POST', '/api/agents', { name: 'other' }));
  t.is((await owner.call('PATCH', `/api/agents/${id}`, { name: 'taken' })).status, 409);
  t.is((await owner.call('PATCH', `/api/agents/${id}`, { name: 'OTHER' })).status, 200);
});
