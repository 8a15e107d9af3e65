// Every change of the platform waits for the counter of changes, so what ends many things announces few at a time.
import test from 'ava';
import { z } from 'zod';
import { sql } from '../../../../src/infra/storage/index.js';
import { tenantScope } from '../../../../src/kernel/tenant-scope.js';
import { eventually } from '../../../support/clocks/eventually.js';
import { addMember, registerPerson } from '../../../support/builders/people.js';
import { databaseOfFile } from '../../../support/database/database.js';
import { type IdentityNode, startIdentityNode } from '../../../support/servers/identity.js';

const database = databaseOfFile(test);
let node: IdentityNode;
let neighbour: IdentityNode;

test.before(async () => {
  [node, neighbour] = await Promise.all([startIdentityNode(database.url), startIdentityNode(database.url)]);
  database.atEnd(async () => void (await Promise.all([node.close(), neighbour.close()])));
});

const partRow = z.object({ topic: z.string(), subjects: z.number(), counted: z.number() });

/** The changes after this one, by the transaction that recorded them. */
function recordedAfter(number: number): Promise<readonly z.output<typeof partRow>[]> {
  return node.store.directory((tx) =>
    tx.any(
      sql.type(partRow)`
        select topic, count(*) as subjects, count(distinct subject) as counted from changes
        where number > ${number} group by xmin::text, topic order by max(number)`,
    ),
  );
}

test.serial('a new password is announced once, however many sign-ins it ends', async (t) => {
  const person = await registerPerson(node.api);
  const { email, password } = person;
  const other = (await node.api.post('/api/auth/login', { email, password })).textAt('data.access_token');
  const me = (token: string, at = node) => at.api.get('/api/auth/me', { token });
  for (const token of [person.token, other]) t.is((await me(token, neighbour)).status, 200);
  await node.store.directory((tx) =>
    tx.query(
      sql.typeAlias('nothing')`
        insert into token_families (id, user_id, created_at, expires_at)
        select gen_random_uuid(), ${person.id}, now(), now() + interval '30 days' from generate_series(1, 30000)`,
    ),
  );
  const before = node.changes.position;
  const body = { current_password: password, new_password: 'another horse battery' };
  const changed = await node.api.post('/api/auth/password', body, { token: person.token });
  t.is(changed.status, 200, changed.text);
  t.deepEqual(await recordedAfter(before), [{ topic: 'user', subjects: 1, counted: 1 }]);
  t.is((await me(other)).at('error'), 'invalid_token');
  await eventually(async () => (await me(other, neighbour)).status === 401);
  for (const at of [node, neighbour]) t.is((await me(person.token, at)).status, 200);
});

test.serial('a member with many keys is removed in parts, each key announced once', async (t) => {
  const owner = await registerPerson(node.api);
  const member = await addMember(node, owner.tenantId, 'admin');
  const { tenantId } = owner;
  await node.store.inTenant(tenantScope(tenantId), (tx) =>
    tx.query(
      sql.typeAlias('nothing')`
        insert into api_keys (tenant_id, id, hash, prefix, suffix, name, role, rate_limit_per_minute, created_by,
          created_at)
        select ${tenantId}, gen_random_uuid(), sha256(n::text::bytea), 'svc_live_', 'abcd', 'a key', 'member', 60,
          ${`user:${member.id}`}, now()
        from generate_series(1, 1200) as n`,
    ),
  );
  const before = node.changes.position;
  const path = `/api/tenants/${tenantId}/members/${member.id}?revoke_keys=true`;
  const removed = await node.api.delete(path, owner);
  t.is(removed.status, 200, removed.text);
  t.is(removed.at('message'), 'The member was removed; API keys revoked: 1200.');
  t.deepEqual(await recordedAfter(before), [
    { topic: 'key-revoked', subjects: 500, counted: 500 },
    { topic: 'key-revoked', subjects: 500, counted: 500 },
    { topic: 'key-revoked', subjects: 200, counted: 200 },
    { topic: 'membership', subjects: 1, counted: 1 },
  ]);
  const entries = await node.store.inTenant(tenantScope(tenantId), (tx) =>
    tx.any(
      sql.type(z.object({ action: z.string(), subject: z.string() }))`
        select action, subject from audit_entries where tenant_id = ${tenantId} order by recorded_at, id`,
    ),
  );
  t.deepEqual(entries.slice(-3), [
    { action: 'member.keys-revoked', subject: `tenant:${tenantId}` },
    { action: 'member.keys-revoked', subject: `tenant:${tenantId}` },
    { action: 'member.removed', subject: `user:${member.id}` },
  ]);
  t.is((await node.api.get(`/api/tenants/${tenantId}`, { ...member })).status, 404);
});
