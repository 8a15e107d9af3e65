// The sweep of previews: every batch goes on behind the one before, and late calls are found by the next sweep.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import { openStore } from '../../../../src/infra/storage/index.js';
import { blankPreviews } from '../../../../src/models/usage/index.js';
import { insertTenant } from '../../../support/builders/callers.js';
import { databaseOfFile } from '../../../support/database/database.js';
import { ownerView } from '../../../support/database/owner-view.js';

const database = databaseOfFile(test);

test('previews go in batches, those of one moment and late ones too; younger ones stay', async (t) => {
  const store = await openStore({ databaseUrl: database.url });
  const owner = await ownerView(database.url);
  t.teardown(async () => {
    await owner.end();
    await store.close();
  });
  const scope = await insertTenant(store);
  const insert = (at: string) =>
    owner.query(
      `insert into calls (tenant_id, started_at, call_id, call_source, provider, model, first_model, status, from_cache,
         attempts, input_tokens, output_tokens, cached_tokens, cache_creation_tokens, cost, response_time_ms,
         input_preview, output_preview)
       values ($1, $2, $3, 's', 'p', 'm', 'm', 'success', false, 1, 1, 1, 0, 0, 0, 1, 'asked', '')`,
      [scope.tenantId, at, randomUUID()],
    );
  const sweep = async (before: string): Promise<readonly number[]> => {
    const counts: number[] = [];
    do counts.push(await store.inTenant(scope, (tx) => blankPreviews(tx, new Date(before), 2)));
    while (counts.at(-1) === 2);
    return counts;
  };
  for (const at of ['01', '10', '10', '10', '12', '20']) await insert(`2023-03-${at}T08:00:00.000123Z`);
  t.deepEqual(await sweep('2023-03-15T00:00:00Z'), [2, 2, 1]);
  await insert('2023-03-11T08:00:00Z');
  t.deepEqual(await sweep('2023-03-16T00:00:00Z'), [1]);
  t.deepEqual(await sweep('2023-03-21T00:00:00Z'), [1]);
  t.deepEqual(await sweep('2023-03-05T00:00:00Z'), [0], 'a longer time of keeping');
  const { rows } = await owner.query(`select from calls where tenant_id = $1 and input_preview <> ''`, [
    scope.tenantId,
  ]);
  t.is(rows.length, 0);
});
