// Lists of triggers, on a real PostgreSQL: a configuration may have a megabyte, and a tenant 2,000 triggers.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import { listTriggers, type ListedTriggerRow } from '../../../src/automation/triggers/triggers.store.js';
import { allPages, type FoundPage, openStore, type Store } from '../../../src/infra/storage/index.js';
import type { TenantScope } from '../../../src/kernel/tenant-scope.js';
import { insertTenant } from '../../support/builders/callers.js';
import { databaseOfFile } from '../../support/database/database.js';
import { ownerView } from '../../support/database/owner-view.js';

const database = databaseOfFile(test);
let store: Store;

test.serial.before(async () => {
  store = await openStore({ databaseUrl: database.url });
  database.atEnd(() => store.close());
});

/** A tenant with so many triggers; the message of each has so many characters. */
async function tenantWith(triggers: number, characters: number): Promise<TenantScope> {
  const scope = await insertTenant(store);
  const agentId = randomUUID();
  const owner = await ownerView(database.url);
  try {
    await owner.query(
      `insert into agents (tenant_id, id, document)
       values ($1, $2::uuid, jsonb_build_object('name', $2::text, 'type', 'chat'))`,
      [scope.tenantId, agentId],
    );
    await owner.query(
      `insert into triggers (tenant_id, id, agent_id, name, trigger_type, config, first_enabled_at, approved, secrets,
         created_at)
       select $1, gen_random_uuid(), $2, 'trigger ' || n, 'schedule', jsonb_build_object('message', repeat('m', $4::int)),
         now(), '{}', '{}', now() - (n / 2) * interval '1 second'
       from generate_series(1, $3::int) n`,
      [scope.tenantId, agentId, triggers, characters],
    );
  } finally {
    await owner.end();
  }
  return scope;
}

function read(
  scope: TenantScope,
  limit: number,
  last?: ListedTriggerRow,
): Promise<FoundPage<ListedTriggerRow>> {
  const filter = last === undefined ? {} : { after: { at: last.created_at, id: last.id } };
  return store.inTenant(scope, (tx) => listTriggers(scope, tx, filter, limit));
}

test('all triggers of a tenant are found, each once, those of one moment too', async (t) => {
  const scope = await tenantWith(1_201, 10);
  const { rows, hasMore } = await allPages<ListedTriggerRow>((last, limit) => read(scope, limit, last));
  t.false(hasMore);
  t.is(new Set(rows.map(({ id }) => id)).size, 1_201);
  t.is(rows.length, 1_201);
});

test('what is read at once has a bound in bytes, and says that there is more', async (t) => {
  const scope = await tenantWith(20, 1_000_000);
  const first = await allPages<ListedTriggerRow>((last, limit) => read(scope, limit, last));
  t.true(first.hasMore);
  t.true(first.rows.length >= 8 && first.rows.length <= 9, `${first.rows.length} rows`);
  const page = await read(scope, 100);
  t.true(page.hasMore && page.rows.length <= 9, 'a page with a limit has the bound too');
});
