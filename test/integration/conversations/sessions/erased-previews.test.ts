// A call that is recorded after its execution was erased shows nothing of what was said.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import { openStore } from '../../../../src/infra/storage/index.js';
import { insertTenant } from '../../../support/builders/callers.js';
import { databaseOfFile } from '../../../support/database/database.js';
import { ownerView } from '../../../support/database/owner-view.js';

const database = databaseOfFile(test);

test('a late call of an erased execution has no previews, one of another tenant keeps them', async (t) => {
  const store = await openStore({ databaseUrl: database.url });
  const owner = await ownerView(database.url);
  t.teardown(async () => {
    await owner.end();
    await store.close();
  });
  const [erased, other] = [await insertTenant(store), await insertTenant(store)];
  const execution = randomUUID();
  await owner.query('insert into ended_by_erasure (tenant_id, id) values ($1, $2)', [
    erased.tenantId,
    execution,
  ]);
  await owner.query('select prepare_call_partitions(now())');
  const previewsOf = async (tenantId: string, executionId: string | null): Promise<string> => {
    const { rows } = await owner.query<{ previews: string }>(
      `insert into calls (tenant_id, started_at, call_id, execution_id, call_source, provider, model, first_model, status,
         from_cache, attempts, input_tokens, output_tokens, cached_tokens, cache_creation_tokens, cost, response_time_ms,
         input_preview, output_preview)
       values ($1, now(), gen_random_uuid(), $2, 'agent.tool-loop', 'sim', 'sim.echo', 'sim.echo', 'success',
         false, 1, 1, 1, 0, 0, 0, 1, 'asked', 'told')
       returning input_preview || '|' || output_preview as previews`,
      [tenantId, executionId],
    );
    return rows[0]!.previews;
  };
  t.is(await previewsOf(erased.tenantId, execution), '|');
  t.is(await previewsOf(erased.tenantId, randomUUID()), 'asked|told');
  t.is(await previewsOf(erased.tenantId, null), 'asked|told');
  t.is(await previewsOf(other.tenantId, execution), 'asked|told');
});
