// Recovery and the turns of a session of which one waits for people.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import { SlotSet, slotCount } from '../../../../cluster/index.js';
import { unfinishedTurns } from '../../../../src/conversations/sessions/recovery.store.js';
import { openStore } from '../../../../src/infra/storage/index.js';
import { insertTenant } from '../../../support/builders/callers.js';
import { databaseOfFile } from '../../../support/database/database.js';
import { ownerView } from '../../../support/database/owner-view.js';

const database = databaseOfFile(test);

test('a turn behind one that waits is found once that has its decision, or its time is over', async (t) => {
  const store = await openStore({ databaseUrl: database.url });
  const owner = await ownerView(database.url);
  t.teardown(async () => {
    await owner.end();
    await store.close();
  });
  const { tenantId } = await insertTenant(store);
  const [session, waiting, behind, elsewhere] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()];
  const insert = (id: string, sessionId: string, arrival: number, status: string, due: string) =>
    owner.query(
      `insert into executions (tenant_id, id, session_id, agent_id, slot, arrival, channel, status, worker, due_at, input,
         created_at)
       values ($1, $2, $3, $3, 7, $4, 'chat', $5, 'this', now() + $6::interval, '{}', now())`,
      [tenantId, id, sessionId, arrival, status, due],
    );
  await insert(waiting, session, 1, 'waiting', '7 days');
  await insert(behind, session, 2, 'queued', '-1 minute');
  await insert(elsewhere, randomUUID(), 1, 'queued', '-1 minute');
  const slots = new SlotSet(new Uint8Array(slotCount / 8).fill(255));
  const found = async (process: string): Promise<readonly string[]> =>
    (await unfinishedTurns(store, slots, process, 10)).map(({ id }) => id).toSorted();
  t.deepEqual(await found('this'), [elsewhere]);
  t.deepEqual(await found('another'), [elsewhere], 'nor is its session loaded after the end of its process');
  await owner.query(`update executions set due_at = now() - interval '1 second' where id = $1`, [waiting]);
  t.deepEqual(await found('this'), [waiting, behind, elsewhere].toSorted());
  await owner.query(`update executions set status = 'queued' where id = $1`, [waiting]);
  t.deepEqual(await found('this'), [waiting, behind, elsewhere].toSorted());
});
