// What a session reads when it begins does not grow with its tenant, even while the statistics say "empty".
import { randomUUID } from 'node:crypto';
import test from 'ava';
import type pg from 'pg';
import { sessionTables } from '../../../../src/conversations/sessions/session.store.js';
import { openStore } from '../../../../src/infra/storage/index.js';
import { insertTenant } from '../../../support/builders/callers.js';
import { databaseOfFile } from '../../../support/database/database.js';
import { ownerView } from '../../../support/database/owner-view.js';

const database = databaseOfFile(test);
const finishedTurns = 1_000;
const stepsOfTurn = 3;

interface PlanNode {
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Join Filter'?: number;
  readonly Plans?: readonly PlanNode[];
}

/** All rows that the nodes of a plan looked at. */
function rowsOf(node: PlanNode): number {
  const own =
    node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Join Filter'] ?? 0);
  return (node.Plans ?? []).reduce((sum, part) => sum + rowsOf(part), own * node['Actual Loops']);
}

async function insertFinishedTurns(owner: pg.Client, tenantId: string, sessionId: string): Promise<void> {
  await owner.query(
    `insert into executions (tenant_id, id, session_id, agent_id, slot, arrival, channel, status, outcome, due_at,
       input, created_at)
     select $1, gen_random_uuid(), $2, $2, 0, n, 'chat', 'completed', 'COMPLETED', now(), '{}', now()
     from generate_series(1, $3::int) n`,
    [tenantId, sessionId, finishedTurns],
  );
  await owner.query(
    `insert into execution_steps (tenant_id, execution_id, number, kind, name, state, started_at)
     select tenant_id, id, n, 'tool', 'look', 'finished', now()
     from executions cross join generate_series(1, $1::int) n where tenant_id = $2`,
    [stepsOfTurn, tenantId],
  );
}

for (const analyzed of [false, true]) {
  const tables = analyzed ? 'analyzed' : 'never analyzed';
  test.serial(
    `a plan made for empty tables, ${tables}, reads each row of a tenant at most a few times`,
    async (t) => {
      const store = await openStore({ databaseUrl: database.url });
      const owner = await ownerView(database.url);
      t.teardown(async () => {
        await owner.end();
        await store.close();
      });
      const { tenantId } = await insertTenant(store);
      const sessionId = randomUUID();
      await owner.query('truncate executions, execution_steps, approvals cascade');
      if (analyzed) await owner.query('vacuum analyze executions, execution_steps, approvals');
      // The settings of the actors' connections, see cluster/fencing/postgres/server.ts.
      for (const setting of ['enable_seqscan', 'enable_hashjoin', 'enable_mergejoin'])
        await owner.query(`set ${setting} = off`);
      await owner.query('set plan_cache_mode = force_generic_plan');
      const { text } = sessionTables.load({ tenantId, sessionId });
      await owner.query(`prepare load_${tables.length}(uuid, uuid) as ${text}`);
      const execute = `execute load_${tables.length}('${tenantId}', '${sessionId}')`;
      await owner.query(execute);
      await insertFinishedTurns(owner, tenantId, randomUUID());
      const { rows } = await owner.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
        `explain (analyze, format json) ${execute}`,
      );
      const read = rowsOf(rows[0]!['QUERY PLAN'][0].Plan);
      t.true(read <= 8 * finishedTurns * stepsOfTurn, `${read} rows`);
    },
  );
}
