// Attachments that no message was bound to: they go after some time, unless their message waits for its turn.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import { forgetUnbound } from '../../../../src/conversations/attachments/index.js';
import { openStore, type Store } from '../../../../src/infra/storage/index.js';
import type { TenantScope } from '../../../../src/kernel/tenant-scope.js';
import { insertTenant } from '../../../support/builders/callers.js';
import { databaseOfFile } from '../../../support/database/database.js';
import { ownerView } from '../../../support/database/owner-view.js';

const database = databaseOfFile(test);
const dayMs = 86_400_000;
let store: Store;
let owner: Awaited<ReturnType<typeof ownerView>>;

test.serial.before(async () => {
  store = await openStore({ databaseUrl: database.url });
  owner = await ownerView(database.url);
  database.atEnd(async () => {
    await owner.end();
    await store.close();
  });
});

/** An attachment that was stored three days ago, and the turns of its session. */
async function insertWaiting({ tenantId }: TenantScope, ...statuses: readonly string[]): Promise<string> {
  const [id, sessionId] = [randomUUID(), randomUUID()];
  await owner.query(
    `insert into attachments (tenant_id, id, session_id, type, media_type, bytes, sealed, created_at)
      values ($1, $2, $3, 'image', 'image/png', 1, '\\x00', now() - interval '3 days')`,
    [tenantId, id, sessionId],
  );
  for (const [index, status] of statuses.entries()) {
    await owner.query(
      `insert into executions (tenant_id, id, session_id, agent_id, slot, arrival, channel, status, outcome, due_at,
          input, created_at)
        values ($1, gen_random_uuid(), $2, gen_random_uuid(), 0, $3, 'api', $4, $5, now(), '{}', now() - interval '3 days')`,
      [tenantId, sessionId, index + 1, status, status === 'completed' ? 'COMPLETED' : null],
    );
  }
  return id;
}

test.serial('those of a message whose turn waits in its session stay', async (t) => {
  const [scope, other] = [await insertTenant(store), await insertTenant(store)];
  const waiting = [
    // The message of the second turn; the first one waits for a person.
    await insertWaiting(scope, 'waiting', 'queued'),
    await insertWaiting(scope, 'completed', 'queued'),
    await insertWaiting(scope, 'running'),
  ];
  await insertWaiting(scope, 'completed', 'completed');
  await insertWaiting(scope);
  const ofOther = await insertWaiting(other);
  const before = new Date(Date.now() - 2 * dayMs);
  const forget = (rowsMax: number): Promise<number> =>
    store.inTenant(scope, (tx) => forgetUnbound(tx, before, rowsMax));
  // Those that stay take no place in a batch.
  t.is(await forget(2), 2);
  t.is(await forget(2), 0);
  const { rows } = await owner.query<{ id: string }>('select id from attachments');
  t.deepEqual(new Set(rows.map(({ id }) => id)), new Set([...waiting, ofOther]));
  await owner.query(`update executions set status = 'completed', outcome = 'COMPLETED'`);
  t.is(await forget(10), 3);
});
