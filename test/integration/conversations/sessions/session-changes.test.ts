import test from 'ava';
import { openStore, type Store } from '../../../../src/infra/storage/index.js';
import { SessionChanges } from '../../../../src/conversations/sessions/session-changes.js';
import { insertTenant } from '../../../support/builders/callers.js';
import { eventually } from '../../../support/clocks/eventually.js';
import { ManualTime } from '../../../support/clocks/manual-time.js';
import { databaseOfFile } from '../../../support/database/database.js';
import { ownerView } from '../../../support/database/owner-view.js';

const database = databaseOfFile(test);
const at = '2026-01-01T00:00:00Z';

test('a change whose reading fails at its commit is told by the next reading', async (t) => {
  const store = await openStore({ databaseUrl: database.url });
  const owner = await ownerView(database.url);
  t.teardown(async () => {
    await owner.end();
    await store.close();
  });
  const scope = await insertTenant(store);
  await owner.query(
    `with agent as (
       insert into agents (tenant_id, id, document)
       values ($1, gen_random_uuid(), '{"name": "a", "type": "chat"}') returning id)
     insert into sessions (tenant_id, id, agent_id, slot, channel, created_at, last_interaction)
     select $1, gen_random_uuid(), id, 0, 'chat', $2, $2 from agent`,
    [scope.tenantId, at],
  );

  let isCut = false;
  let readings = 0;
  const reported: unknown[] = [];
  const cutting: Pick<Store, 'inTenant'> = {
    async inTenant(of, handler, options) {
      try {
        const result = await store.inTenant(of, handler, options);
        if (isCut) throw new Error('the connection was lost at the commit');
        return result;
      } finally {
        readings += 1;
      }
    },
  };
  const time = new ManualTime(at);
  const changes = new SessionChanges({
    store: cutting,
    time,
    report: (_attempted, error) => void reported.push(error),
  });
  t.teardown(() => changes.stop());
  const told: number[] = [];
  t.teardown(
    changes.follow(scope, ({ sessions }) => told.push(...sessions.map(({ session }) => session.total_turns))),
  );
  const read = async (): Promise<void> => {
    const before = readings;
    await eventually(() => time.pending === 1, { what: 'the next reading is due' });
    time.advance(1_000);
    await eventually(() => readings > before);
  };
  await read();
  await eventually(() => told.length === 1);
  await owner.query('update sessions set total_turns = 1 where tenant_id = $1', [scope.tenantId]);
  isCut = true;
  await read();
  isCut = false;
  await read();
  await eventually(() => time.pending === 1, { what: 'the reading has ended' });
  t.is(reported.length, 1);
  t.deepEqual(told, [0, 1]);
});
