// The agent that a turn runs, and its versions, for other subjects.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import { z } from 'zod';
import { sql } from '../../../src/infra/storage/index.js';
import { type AgentsBench, dataOf, idOf, startAgents } from '../../support/servers/agents.js';
import { databaseOfFile } from '../../support/database/database.js';

const database = databaseOfFile(test);
let bench: AgentsBench;

test.serial.before(async () => {
  bench = await startAgents(database, {
    models: {
      isKnown: (model) => model !== 'nobody.knows',
      suggestionFor: () => '',
      faultOf: (_, { plan }, model) =>
        model === 'sim.echo'
          ? undefined
          : model === 'openai.large'
            ? Promise.resolve(`is outside the tiers of the plan ${plan}`)
            : 'is unknown',
    },
  });
});

async function newAgent() {
  const owner = bench.person(await bench.newTenant(), 'owner');
  const id = idOf(await owner.call('POST', '/api/agents', { name: 'running', bio: 'draft' }));
  return { owner, id, scope: owner.caller.scope, at: `/api/agents/${id}` };
}

test('a draft runs its working copy except for members, a published agent its version for everybody', async (t) => {
  const { owner, id, scope, at } = await newAgent();
  const { runnableAgent } = bench.subject;
  const schema = await owner.call('POST', `${at}/schemas`, {
    name: 'tool',
    type: 'api',
    editor_schema: { api: { url: 'http://127.0.0.1:8/?k=${secret.key}' } },
  });
  await owner.call('POST', '/api/secrets', { name: 'key', value: 'v-a-l-u-e', kind: 'generic' });
  for (const role of ['owner', 'admin', 'editor'] as const) {
    const draft = await runnableAgent(scope, id, role);
    t.is(draft?.version, null);
    t.is(draft?.snapshot.bio, 'draft');
    t.deepEqual(draft?.approved?.get(idOf(schema)), ['name:key http://127.0.0.1:8']);
  }
  t.is(await runnableAgent(scope, id, 'member'), undefined);

  await owner.call('POST', `${at}/publish`);
  await owner.call('PATCH', at, { bio: 'edited' });
  for (const role of ['owner', 'editor', 'member'] as const) {
    const live = await runnableAgent(scope, id, role);
    t.is(live?.version, 1);
    t.is(live?.snapshot.bio, 'draft');
    t.is(live?.approved, null);
  }
  await owner.call('POST', `${at}/unpublish`);
  t.is((await runnableAgent(scope, id, 'editor'))?.snapshot.bio, 'edited');
  t.is(await runnableAgent(scope, id, 'member'), undefined);
  await owner.call('DELETE', at);
  for (const role of ['owner', 'member'] as const) t.is(await runnableAgent(scope, id, role), undefined);
  for (const other of ['nonsense', randomUUID()]) t.is(await runnableAgent(scope, other, 'owner'), undefined);
  t.is(await runnableAgent(await bench.newTenant(), id, 'owner'), undefined);
});

test("a version is readable whatever the agent's state, by its tenant alone", async (t) => {
  const { owner, id, scope, at } = await newAgent();
  await owner.call('POST', `${at}/publish`);
  await owner.call('PATCH', at, { bio: 'second' });
  await owner.call('POST', `${at}/publish`);
  await owner.call('DELETE', at);
  const { agentVersion } = bench.subject;
  for (let again = 0; again < 2; again += 1) {
    t.is((await agentVersion(scope, id, 1))?.bio, 'draft');
    t.is((await agentVersion(scope, id, 2))?.bio, 'second');
  }
  t.is(await agentVersion(scope, id, 3), undefined);
  t.is(await agentVersion(scope, 'nonsense', 1), undefined);
  t.is(await agentVersion(await bench.newTenant(), id, 1), undefined);
});

test('models that would be refused are warnings and do not prevent publishing', async (t) => {
  const { owner, at } = await newAgent();
  const validate = async () => dataOf(await owner.call('POST', `${at}/validate`));
  t.deepEqual(await validate(), { valid: true, issues: [], warnings: [] });
  await owner.call('PATCH', at, {
    llm_config: { model: 'openai.large', fallback_models: ['sim.echo', 'openai.large'] },
  });
  const found = await validate();
  t.true(found['valid']);
  t.like(found['warnings'], [
    { schema: null, field: 'llm_config.model', issue: 'is outside the tiers of the plan enterprise' },
    { field: 'llm_config.fallback_models.1' },
  ]);
  t.is((await owner.call('POST', `${at}/publish`)).status, 200);
});

test('an agent with an unknown model is not published', async (t) => {
  for (const [llm_config, field] of [
    [{ model: 'nobody.knows' }, 'llm_config.model'],
    [{ model: 'auto', fallback_models: ['sim.echo', 'nobody.knows'] }, 'llm_config.fallback_models.1'],
  ] as const) {
    const { owner, at } = await newAgent();
    await owner.call('PATCH', at, { llm_config });
    const refused = await owner.call('POST', `${at}/publish`);
    t.is(refused.status, 400);
    t.like(refused.body, {
      error: 'validation_error',
      details: { schema: null, field, issue: 'the model nobody.knows does not exist' },
    });
    const found = dataOf(await owner.call('POST', `${at}/validate`));
    t.like(found, { valid: false, issues: [{ field }], warnings: [] });
    t.is(dataOf(await owner.call('GET', at))['status'], 'draft');
  }
});

test("the audit records an API key's action on another endpoint as the key's", async (t) => {
  const scope = await bench.newTenant();
  const key = bench.key(scope, 'admin');
  const id = idOf(await key.call('POST', '/api/agents', { name: 'by-key' }));
  await key.call('POST', `/api/agents/${id}/publish`);
  t.is(dataOf(await key.call('GET', `/api/agents/${id}`))['created_by'], key.caller.keyId);
  const actors = await bench.store.inTenant(scope, (tx) =>
    tx.anyFirst(
      sql.type(z.object({ actor: z.string() }))`
        select actor from audit_entries where tenant_id = ${scope.tenantId}`,
    ),
  );
  // The creation and the publication.
  t.deepEqual(actors, [`key:${key.caller.keyId}`, `key:${key.caller.keyId}`]);
  const member = bench.key(scope, 'member');
  t.is((await member.call('POST', '/api/agents', { name: 'x' })).status, 403);
});
