import { randomUUID } from 'node:crypto';
import { inspect } from 'node:util';
import test from 'ava';
import { z } from 'zod';
import { sql } from '../../../../src/infra/storage/index.js';
import { secretShape, VaultRig } from '../../../support/servers/vault-rig.js';

const rig = new VaultRig(test);

test.serial('a secret is stored, described and resolved, and the API never returns its value', async (t) => {
  const scope = await rig.enter();
  const value = `planted ${randomUUID()} ü€`;
  const created = await rig.create({ name: 'mail', value, allowed_hosts: ['API.example.com', '*.x.org'] });
  t.is(created.status, 201, created.text);
  t.like(created.body, {
    success: true,
    data: {
      name: 'mail',
      kind: 'generic',
      provider: null,
      version: 1,
      allowed_hosts: ['api.example.com', '*.x.org'],
    },
  });
  const id = created.data?.id ?? '';
  const answers = [
    created,
    await rig.call('GET', '/api/secrets'),
    await rig.call('GET', `/api/secrets/${id}`),
  ];
  for (const { text } of answers) t.false(text.includes('planted'));
  const byName = await rig.vault.resolve(scope, 'mail');
  t.is(byName.value.reveal(), value);
  t.deepEqual(byName.allowedHosts, ['api.example.com', '*.x.org']);
  t.is((await rig.vault.resolve(scope, { vault_secret_id: id })).value.reveal(), value);
  t.false(inspect(byName, { depth: 9 }).includes('planted'));
  await rig.store.inTenant(scope, async (tx) => {
    t.is((await rig.vault.resolve(tx, 'mail')).value.reveal(), value);
    t.like(await rig.vault.keep(tx, 'mail'), { id, name: 'mail' });
  });
});

test.serial('names, values, kinds, providers and hosts are validated', async (t) => {
  await rig.enter();
  const refused = async (body: Record<string, unknown>, status: number, error: string, field?: string) => {
    const answer = await rig.create({ name: 'n', value: 'v', ...body });
    t.like(answer.body, { error, status: 'error' }, JSON.stringify(body));
    t.is(answer.status, status);
    if (field !== undefined) t.is((answer.body['details'] as { field: string }).field, field);
  };
  for (const name of ['', 'a'.repeat(65), 'with space', 'ümlaut', 'slash/']) {
    await refused({ name }, 400, 'validation_error', 'name');
  }
  await refused({ name: undefined }, 400, 'missing_required_field', 'name');
  await refused({ value: undefined }, 400, 'missing_required_field', 'value');
  await refused({ kind: undefined }, 400, 'missing_required_field', 'kind');
  await refused({ value: '' }, 400, 'validation_error', 'value');
  await refused({ value: 'ü'.repeat(8_193) }, 400, 'validation_error', 'value');
  await refused({ kind: 'other' }, 400, 'validation_error', 'kind');
  await refused({ kind: 'llm_key' }, 400, 'missing_required_field', 'provider');
  await refused({ kind: 'llm_key', provider: 'nobody' }, 400, 'invalid_provider');
  for (const value of ['sk-1\n', 'sk\t1', 'sk-\x7f', 'sk-ü']) {
    await refused({ kind: 'llm_key', provider: 'openai', value }, 400, 'validation_error', 'value');
  }
  await refused({ provider: 'openai' }, 400, 'validation_error', 'provider');
  await refused({ allowed_hosts: ['https://x.org/'] }, 400, 'validation_error', 'allowed_hosts.0');
  await refused({ allowed_hosts: Array.from({ length: 51 }, () => 'x.org') }, 400, 'validation_error');
  t.is((await rig.create({ name: 'a'.repeat(64), value: 'ü'.repeat(8_192) })).status, 201);
  t.is((await rig.create({ name: 'A-Z_0.9', value: 'v', kind: 'llm_key', provider: 'openai' })).status, 201);
  await refused({ name: 'A-Z_0.9' }, 409, 'conflict');
});

test.serial(
  'a new value of a key keeps to what a header can carry, one of another kind need not',
  async (t) => {
    const scope = await rig.enter();
    const key = await rig.made({ name: 'key', value: 'sk-1', kind: 'llm_key', provider: 'openai' });
    const odd = await rig.call('PUT', `/api/secrets/${key.id}/value`, { value: 'sk-2\n' });
    t.is(odd.status, 400, odd.text);
    t.like(odd.body, { error: 'validation_error', details: { field: 'value' } });
    t.is((await rig.vault.resolve(scope, 'key')).value.reveal(), 'sk-1');
    const other = await rig.made({ name: 'certificate', value: 'a\nb\n' });
    t.is((await rig.call('PUT', `/api/secrets/${other.id}/value`, { value: 'c\nd\n' })).status, 200);
  },
);

test.serial('a list returns all secrets, or pages of them', async (t) => {
  await rig.enter();
  for (const name of ['b', 'a', 'C', 'd.1']) await rig.made({ name, value: 'v' });
  const namesOf = (body: Record<string, unknown>) =>
    z
      .array(secretShape)
      .parse(body['data'])
      .map(({ name }) => name);
  const all = await rig.call('GET', '/api/secrets');
  t.deepEqual(namesOf(all.body), ['C', 'a', 'b', 'd.1']);
  t.like(all.body, { count: 4, next_cursor: null });
  const first = await rig.call('GET', '/api/secrets?limit=3');
  t.deepEqual(namesOf(first.body), ['C', 'a', 'b']);
  const rest = await rig.call('GET', `/api/secrets?cursor=${String(first.body['next_cursor'])}`);
  t.deepEqual(namesOf(rest.body), ['d.1']);
  t.is(rest.body['next_cursor'], null);
  for (const query of ['cursor=%00', 'cursor=!!', 'limit=0', 'limit=x']) {
    t.is((await rig.call('GET', `/api/secrets?${query}`)).status, 400, query);
  }
  t.is((await rig.call('GET', '/api/secrets?limit=101')).status, 200, 'cut to the largest page');
});

test.serial('a secret in use is deleted only by force, an unused one at once', async (t) => {
  const scope = await rig.enter();
  const { id } = await rig.made({ name: 'used', value: 'v' });
  rig.references.push({ secretId: id, type: 'trigger', id: 't1', name: 'nightly' });
  const seen = await rig.call('GET', `/api/secrets/${id}`);
  t.deepEqual(secretShape.parse(seen.body['data']).references, [
    { type: 'trigger', id: 't1', name: 'nightly' },
  ]);
  const refused = await rig.call('DELETE', `/api/secrets/${id}`);
  t.is(refused.status, 409);
  t.like(refused.body, { error: 'conflict', details: { count: 1 } });
  t.is((await rig.vault.resolve(scope, 'used')).value.reveal(), 'v');
  const deleted = await rig.call('DELETE', `/api/secrets/${id}?force=true`);
  t.deepEqual([deleted.status, Object.keys(deleted.body)], [200, ['success', 'message']]);
  t.is((await rig.call('GET', `/api/secrets/${id}`)).status, 404);
  await t.throwsAsync(rig.vault.resolve(scope, 'used'), { message: /does not exist/ });
  t.is(await rig.vault.find(scope, { vault_secret_id: id }), undefined);
  t.is((await rig.made({ name: 'used', value: 'again' })).version, 1);
});

test.serial("another tenant's secrets are not found, and malformed references name nothing", async (t) => {
  const scope = await rig.enter();
  const { id } = await rig.made({ name: 'mine', value: 'v' });
  const other = await rig.enter('owner');
  for (const [method, path, body] of [
    ['GET', `/api/secrets/${id}`, undefined],
    ['PUT', `/api/secrets/${id}/value`, { value: 'x' }],
    ['PATCH', `/api/secrets/${id}`, { allowed_hosts: null }],
    ['DELETE', `/api/secrets/${id}?force=true`, undefined],
    ['GET', '/api/secrets/not-a-uuid', undefined],
  ] as const) {
    const { status, text } = await rig.call(method, path, body);
    t.is(status, 404, `${method} ${path} ${text}`);
  }
  for (const ref of ['mine', '', 'a\0b', { vault_secret_id: id }, { vault_secret_id: 'x' }]) {
    t.is(await rig.vault.find(other, ref), undefined);
    await t.throwsAsync(rig.vault.resolve(other, ref), { name: 'PlatformError', message: /does not exist/ });
  }
  t.is((await rig.vault.resolve(scope, 'mine')).value.reveal(), 'v');
});

test.serial('editors and members cannot list secrets', async (t) => {
  for (const role of ['editor', 'member'] as const) {
    await rig.enter(role);
    for (const [method, path] of [
      ['GET', '/api/secrets'],
      ['GET', `/api/secrets/${randomUUID()}`],
      ['DELETE', `/api/secrets/${randomUUID()}`],
    ] as const) {
      t.is((await rig.call(method, path)).status, 403, `${role} ${path}`);
    }
    t.is((await rig.create({ name: 'n', value: 'v' })).status, 403);
  }
});

test.serial('allowed hosts are replaced, kept and taken away', async (t) => {
  await rig.enter();
  const { id } = await rig.made({ name: 'hosts', value: 'v' });
  const patch = async (body: unknown) =>
    secretShape.parse((await rig.call('PATCH', `/api/secrets/${id}`, body)).body['data']).allowed_hosts;
  t.deepEqual(await patch({ allowed_hosts: ['X.org', 'x.org'] }), ['x.org']);
  t.deepEqual(await patch({}), ['x.org']);
  t.is(await patch({ allowed_hosts: null }), null);
});

test.serial('each change leaves an audit entry', async (t) => {
  const scope = await rig.enter();
  const { id } = await rig.made({ name: 'audited', value: 'v', kind: 'llm_key', provider: 'openai' });
  await rig.call('PUT', `/api/secrets/${id}/value`, { value: 'w' });
  await rig.call('PATCH', `/api/secrets/${id}`, { allowed_hosts: ['x.org'] });
  await rig.call('DELETE', `/api/secrets/${id}`);
  const row = z.object({
    actor: z.string(),
    action: z.string(),
    subject: z.string(),
    details: z.looseObject({}),
  });
  const entries = await rig.store.inTenant(scope, (tx) =>
    tx.any(sql.type(row)`select actor, action, subject, details from audit_entries order by recorded_at`),
  );
  t.deepEqual(
    entries.map(({ action }) => action),
    ['secret.created', 'secret.value-changed', 'secret.hosts-changed', 'secret.deleted'],
  );
  t.true(entries.every(({ subject, actor }) => subject === `secret:${id}` && actor.startsWith('user:')));
  t.deepEqual(entries[0]?.details, { name: 'audited', kind: 'llm_key', provider: 'openai' });
});
