// Pages of executions that no session accepted: PostgreSQL gives them their times, and a place in the list has milliseconds.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import { recordRefused } from '../../../../src/conversations/sessions/index.js';
import { listExecutions, type ReadExecution } from '../../../../src/conversations/sessions/reads.store.js';
import { openStore } from '../../../../src/infra/storage/index.js';
import { insertTenant } from '../../../support/builders/callers.js';
import { databaseOfFile } from '../../../support/database/database.js';
import { ownerView } from '../../../support/database/owner-view.js';

const database = databaseOfFile(test);

test('refused executions of one millisecond are on one page each, none twice and none left out', async (t) => {
  const store = await openStore({ databaseUrl: database.url });
  t.teardown(() => store.close());
  const scope = await insertTenant(store);
  const owner = await ownerView(database.url);
  t.teardown(() => owner.end());
  const agentId = randomUUID();
  await owner.query(
    `insert into agents (tenant_id, id, document) values ($1, $2::uuid, jsonb_build_object('name', $2::text, 'type', 'chat'))`,
    [scope.tenantId, agentId],
  );
  const ids = Array.from({ length: 6 }, () => randomUUID());
  await store.inTenant(scope, async (tx) => {
    for (const id of ids) {
      await recordRefused(tx, {
        id,
        sessionId: randomUUID(),
        agentId,
        triggerId: randomUUID(),
        channel: 'webhook',
        userId: null,
        consumerKey: undefined,
        message: 'hello',
        status: 'failed',
        error: null,
      });
    }
  });
  const { rows: finer } = await owner.query(
    "select from executions where tenant_id = $1 and created_at <> date_trunc('milliseconds', created_at)",
    [scope.tenantId],
  );
  t.is(finer.length, 0, 'their times have milliseconds');
  await owner.query(
    `update executions set created_at = (select min(created_at) from executions where tenant_id = $1)
      where tenant_id = $1`,
    [scope.tenantId],
  );
  const found: string[] = [];
  let last: ReadExecution | undefined;
  do {
    const after = last === undefined ? undefined : { at: last.created_at, id: last.id };
    const page = await store.inTenant(scope, (tx) => listExecutions(scope, tx, { after, limit: 1 }));
    last = page.rows[0];
    if (last !== undefined) found.push(last.id);
  } while (last !== undefined);
  t.deepEqual(found.toSorted(), ids.toSorted());
});
