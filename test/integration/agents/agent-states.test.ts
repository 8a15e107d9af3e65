import { randomUUID } from 'node:crypto';
import test from 'ava';
import { z } from 'zod';
import { sql } from '../../../src/infra/storage/index.js';
import { type AgentsBench, dataOf, idOf, namesOf, startAgents } from '../../support/servers/agents.js';
import { databaseOfFile } from '../../support/database/database.js';

const database = databaseOfFile(test);
let bench: AgentsBench;

test.serial.before(async () => {
  bench = await startAgents(database);
});

async function newOwner() {
  return bench.person(await bench.newTenant(), 'owner');
}

test('a member sees only published agents, in their running version, and may change nothing', async (t) => {
  const owner = await newOwner();
  const member = bench.person(owner.caller.scope, 'member');
  const draft = idOf(await owner.call('POST', '/api/agents', { name: 'draft' }));
  const live = idOf(await owner.call('POST', '/api/agents', { name: 'live', bio: 'as published' }));
  await owner.call('POST', `/api/agents/${live}/publish`);
  await owner.call('PATCH', `/api/agents/${live}`, { name: 'edited', bio: 'not yet', type: 'workflow' });

  t.is((await member.call('GET', `/api/agents/${draft}`)).body['error'], 'agent_not_found');
  t.deepEqual(namesOf(await member.call('GET', '/api/agents')), ['live']);
  t.deepEqual(namesOf(await member.call('GET', '/api/agents?type=workflow')), []);
  t.deepEqual(namesOf(await member.call('GET', '/api/agents?status=draft')), []);
  t.like(dataOf(await member.call('GET', `/api/agents/${live}`)), { name: 'live', bio: 'as published' });
  t.like(dataOf(await owner.call('GET', `/api/agents/${live}`)), { name: 'edited', bio: 'not yet' });
  for (const [method, path] of [
    ['POST', ''],
    ['PATCH', `/${live}`],
    ['DELETE', `/${live}`],
    ['POST', `/${live}/publish`],
    ['POST', `/${live}/unpublish`],
  ] as const) {
    const refused = await member.call(method, `/api/agents${path}`, { name: 'x' });
    t.is(refused.status, 403);
    t.is(refused.body['error'], 'insufficient_permissions');
  }
});

test('an editor creates and changes agents, but neither publishes nor archives them', async (t) => {
  const scope = await bench.newTenant();
  const editor = bench.person(scope, 'editor');
  const id = idOf(await editor.call('POST', '/api/agents', { name: 'mine' }));
  t.is((await editor.call('PATCH', `/api/agents/${id}`, { bio: 'x' })).status, 200);
  for (const [method, path] of [
    ['POST', '/publish'],
    ['POST', '/unpublish'],
    ['POST', '/restore'],
    ['DELETE', ''],
  ] as const) {
    t.is((await editor.call(method, `/api/agents/${id}${path}`, {})).status, 403);
  }
});

test('agents pass through their states, and the audit records each change', async (t) => {
  const owner = await newOwner();
  const id = idOf(await owner.call('POST', '/api/agents', { name: 'wanderer' }));
  const go = async (method: string, path: string) => {
    const reply = await owner.call(method, `/api/agents/${id}${path}`);
    return reply.status === 200 ? dataOf(reply)['status'] : reply.body['error'];
  };
  t.is(await go('POST', '/restore'), 'conflict');
  t.is(await go('POST', '/unpublish'), 'draft', 'a draft stays one');
  t.is(await go('POST', '/publish'), 'published');
  t.is(await go('POST', '/publish'), 'published');
  t.is(await go('POST', '/unpublish'), 'draft');
  t.is(await go('DELETE', ''), 'archived');
  t.is(await go('DELETE', ''), 'archived', 'an archived agent stays one');
  t.is(await go('POST', '/publish'), 'conflict');
  t.is(await go('POST', '/unpublish'), 'conflict');
  t.is((await owner.call('PATCH', `/api/agents/${id}`, { bio: 'x' })).status, 409);
  t.is((await owner.call('GET', `/api/agents/${id}`)).status, 200);
  t.is(await go('POST', '/restore'), 'draft');
  const { scope } = owner.caller;
  const actions = await bench.store.inTenant(scope, (tx) =>
    tx.anyFirst(
      sql.type(z.object({ action: z.string() }))`
        select action from audit_entries where tenant_id = ${scope.tenantId} order by recorded_at`,
    ),
  );
  t.deepEqual(actions, [
    'agent.created',
    'agent.published',
    'agent.published',
    'agent.unpublished',
    'agent.archived',
    'agent.restored',
  ]);
});

test('an archived agent frees its name, and is not restored while another has it', async (t) => {
  const owner = await newOwner();
  const first = idOf(await owner.call('POST', '/api/agents', { name: 'heir' }));
  await owner.call('DELETE', `/api/agents/${first}`);
  const second = idOf(await owner.call('POST', '/api/agents', { name: 'heir' }));
  t.is((await owner.call('POST', `/api/agents/${first}/restore`)).status, 409);
  await owner.call('DELETE', `/api/agents/${second}`);
  t.is((await owner.call('POST', `/api/agents/${first}/restore`)).status, 200);
});

test('publishing keeps limits that it is not given and replaces those that it is', async (t) => {
  const owner = await newOwner();
  const id = idOf(await owner.call('POST', '/api/agents', { name: 'limited' }));
  const user = randomUUID();
  const config = async (body?: object) =>
    dataOf(await owner.call('POST', `/api/agents/${id}/publish`, body))['config'];
  t.deepEqual(await config({ config: { rate_limit: 5, allowed_users: [user] } }), {
    rate_limit: 5,
    allowed_users: [user],
  });
  t.deepEqual(await config(), { rate_limit: 5, allowed_users: [user] });
  t.deepEqual(await config({ config: { rate_limit: null } }), { rate_limit: null, allowed_users: [user] });
  t.deepEqual(await config({ config: { allowed_users: [] } }), { rate_limit: null, allowed_users: [] });
  for (const wrong of [{ rate_limit: 0 }, { rate_limit: 1.5 }, { allowed_users: ['me'] }]) {
    t.is((await owner.call('POST', `/api/agents/${id}/publish`, { config: wrong })).status, 400);
  }
});

test('each of several concurrent publications creates a version', async (t) => {
  const owner = await newOwner();
  const id = idOf(await owner.call('POST', '/api/agents', { name: 'eager' }));
  const replies = await Promise.all(
    Array.from({ length: 5 }, () => owner.call('POST', `/api/agents/${id}/publish`)),
  );
  t.deepEqual(
    replies.map((reply) => Number(dataOf(reply)['published_version'])).toSorted((a, b) => a - b),
    [1, 2, 3, 4, 5],
  );
  t.is(dataOf(await owner.call('GET', `/api/agents/${id}`))['published_version'], 5);
});
