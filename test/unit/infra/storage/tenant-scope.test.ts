// Code that must not compile: the build of this file fails if a marked line is accepted.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import { tenantScope } from '../../../../src/kernel/tenant-scope.js';
import type { TenantScope } from '../../../../src/kernel/tenant-scope.js';
import { sql } from '../../../../src/infra/storage/index.js';
import type { Store, TenantTransaction } from '../../../../src/infra/storage/index.js';

function countMembers(tx: TenantTransaction): Promise<number> {
  return tx.oneFirst(sql.typeAlias('count')`select count(*) from memberships`);
}

/** Never called; the compiler reads it. */
export async function refusedByTheCompiler(store: Store, scope: TenantScope): Promise<void> {
  await store.inTenant(scope, countMembers);
  // @ts-expect-error a tenant's transaction needs the tenant's scope
  await store.inTenant(countMembers);
  // @ts-expect-error a tenant's id is no scope: it shows no credential
  await store.inTenant(randomUUID(), countMembers);
  // @ts-expect-error an object that looks like a scope is not one
  await store.inTenant({ tenantId: randomUUID() }, countMembers);
  // @ts-expect-error a reader of a tenant's rows requires a tenant
  await store.directory(countMembers);
  // @ts-expect-error there is no query outside a transaction
  await store.query(sql.typeAlias('count')`select count(*) from memberships`);
}

test('a scope has a UUID in its canonical spelling', (t) => {
  const id = randomUUID();
  t.is(tenantScope(id.toUpperCase()).tenantId, id);
});

for (const wrong of ['', 'abc', '0190a0a0-0000-7000-8000-000000000000 ', "' or true --"]) {
  test(`${JSON.stringify(wrong)} makes no scope`, (t) => {
    t.throws(() => tenantScope(wrong), { instanceOf: TypeError });
  });
}
