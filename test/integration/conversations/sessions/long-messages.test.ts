// What one read holds of long texts, against a real PostgreSQL: a message may have a million characters.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import { listTriggered } from '../../../../src/conversations/sessions/index.js';
import {
  listExecutions,
  listMessages,
  listMessagesBefore,
  walkMessages,
} from '../../../../src/conversations/sessions/reads.store.js';
import { sessionTables } from '../../../../src/conversations/sessions/session.store.js';
import { type FoundPage, openStore, type Store } from '../../../../src/infra/storage/index.js';
import type { TenantScope } from '../../../../src/kernel/tenant-scope.js';
import { insertTenant } from '../../../support/builders/callers.js';
import { databaseOfFile } from '../../../support/database/database.js';
import { ownerView } from '../../../support/database/owner-view.js';

const database = databaseOfFile(test);
const long = 1_000_000;
const count = 12;
let store: Store;
let scope: TenantScope;
const id = randomUUID();

test.serial.before(async () => {
  store = await openStore({ databaseUrl: database.url });
  database.atEnd(() => store.close());
  scope = await insertTenant(store);
  const owner = await ownerView(database.url);
  const { tenantId } = scope;
  await owner.query(
    `insert into agents (tenant_id, id, document) values ($1, $2::uuid, jsonb_build_object('name', $2::text, 'type', 'chat'))`,
    [tenantId, id],
  );
  await owner.query(
    `insert into sessions (tenant_id, id, agent_id, slot, channel, created_at, last_interaction)
     values ($1, $2, $2, 0, 'chat', now(), now())`,
    [tenantId, id],
  );
  await owner.query(
    `insert into messages (tenant_id, session_id, number, id, role, content, created_at)
     select $1, $2, n, gen_random_uuid(), 'user', repeat('x', $3), now() from generate_series(1, $4::int) n`,
    [tenantId, id, long, count],
  );
  await owner.query(
    `insert into executions (tenant_id, id, session_id, agent_id, trigger_id, slot, arrival, channel, status, outcome,
       due_at, input, output, created_at, finished_at)
     select $1, gen_random_uuid(), $2, $2, $2, 0, n, 'chat', 'completed', 'COMPLETED', now(),
       jsonb_build_object('message', repeat('y', $3)), repeat('x', $3), now() + n * interval '1 second', now()
     from generate_series(1, $4::int) n`,
    [tenantId, id, long, count],
  );
  await owner.end();
});

/** How many rows each page has. */
async function pages<Row, After>(
  read: (after: After | undefined) => Promise<FoundPage<Row>>,
  behind: (row: Row) => After,
  nameOf: (row: Row) => unknown,
): Promise<{ readonly counts: readonly number[]; readonly names: readonly unknown[] }> {
  const [counts, names]: [number[], unknown[]] = [[], []];
  let after: After | undefined;
  do {
    const { rows, hasMore } = await read(after);
    counts.push(rows.length);
    names.push(...rows.map(nameOf));
    const last = rows.at(-1);
    after = hasMore && last !== undefined ? behind(last) : undefined;
  } while (after !== undefined);
  return { counts, names };
}

const upwards = Array.from({ length: count }, (_, at) => at + 1);

test('a page of long messages ends early, and the pages have each message once', async (t) => {
  const number = ({ number: of }: { readonly number: number }) => of;
  const oldest = await pages(
    (after = 0) => store.inTenant(scope, (tx) => listMessages(scope, tx, id, after, 100)),
    number,
    number,
  );
  t.deepEqual(oldest, { counts: [5, 5, 2], names: upwards });
  const newest = await pages(
    (before = Number.MAX_SAFE_INTEGER) =>
      store.inTenant(scope, (tx) => listMessagesBefore(scope, tx, id, before, 100)),
    number,
    number,
  );
  t.deepEqual(newest, { counts: [5, 5, 2], names: upwards.toReversed() });
  const exported = await pages(
    (after: { readonly sessionId: string; readonly number: number } | undefined) =>
      store.inTenant(scope, (tx) => walkMessages(tx, {}, after, 200)),
    ({ session_id: sessionId, number: of }) => ({ sessionId, number: of }),
    number,
  );
  t.deepEqual(exported, { counts: [5, 5, 2], names: upwards });
  const few = await store.inTenant(scope, (tx) => listMessages(scope, tx, id, 0, 3));
  t.deepEqual([few.rows.length, few.hasMore], [3, true]);
});

test('a page of long answers ends early, and the pages have each execution once', async (t) => {
  const place = ({ created_at: at, id: of }: { readonly created_at: Date; readonly id: string }) => ({
    at,
    id: of,
  });
  const nameOf = (row: { readonly id: string }) => row.id;
  const all = await pages(
    (after: { readonly at: Date; readonly id: string } | undefined) =>
      store.inTenant(scope, (tx) => listExecutions(scope, tx, { after, limit: 100 })),
    place,
    nameOf,
  );
  t.deepEqual(all.counts, [5, 5, 2]);
  t.is(new Set(all.names).size, count);
  // Here the message is read beside the answer.
  const triggered = await pages(
    (after: { readonly at: Date; readonly id: string } | undefined) =>
      store.inTenant(scope, (tx) => listTriggered(tx, id, { after, limit: 100 })),
    place,
    nameOf,
  );
  t.deepEqual(triggered.counts, [3, 3, 3, 3]);
  t.deepEqual(triggered.names, all.names);
});

test('a session is loaded with the newest of its long messages alone', async (t) => {
  const owner = await ownerView(database.url);
  const { text, values } = sessionTables.load({ tenantId: scope.tenantId, sessionId: id });
  const { rows } = await owner.query<Record<string, unknown>>(text, values as unknown[]);
  await owner.end();
  const { messages } = sessionTables.loaded(rows, { tenantId: scope.tenantId, sessionId: id });
  t.deepEqual(
    messages.map(({ number }) => number),
    upwards.slice(-5),
  );
  t.false('bytes' in (messages[0] ?? {}));
});
