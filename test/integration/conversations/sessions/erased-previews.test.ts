// A call that is recorded after its execution was erased, or while it is, shows nothing of what was said.
import { randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import type pg from 'pg';
import { openStore } from '../../../../src/infra/storage/index.js';
import { insertTenant } from '../../../support/builders/callers.js';
import { eventually } from '../../../support/clocks/eventually.js';
import { databaseOfFile } from '../../../support/database/database.js';
import { waitersFor } from '../../../support/database/lock-waiters.js';
import { ownerView } from '../../../support/database/owner-view.js';

const database = databaseOfFile(test);

// Once for all tests: each view lifts the walls that still stand, and would wait for transactions of others.
test.serial.before('the walls are lifted', async () => {
  const owner = await ownerView(database.url);
  await owner.end();
});

/** Returns the previews that the row has got. */
async function recordCall(
  client: pg.Client,
  tenantId: string,
  executionId: string | null,
  sessionId: string | null = null,
): Promise<string> {
  const { rows } = await client.query<{ previews: string }>(
    `insert into calls (tenant_id, started_at, call_id, session_id, execution_id, call_source, provider, model, first_model,
       status, from_cache, attempts, input_tokens, output_tokens, cached_tokens, cache_creation_tokens, cost,
       response_time_ms, input_preview, output_preview)
     values ($1, now(), gen_random_uuid(), $3, $2, 'agent.tool-loop', 'sim', 'sim.echo', 'sim.echo',
       'success', false, 1, 1, 1, 0, 0, 0,
       1, 'asked', 'told')
     returning input_preview || '|' || output_preview as previews`,
    [tenantId, executionId, sessionId],
  );
  return rows[0]!.previews;
}

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
  const previewsOf = (tenantId: string, executionId: string | null): Promise<string> =>
    recordCall(owner, tenantId, executionId);
  t.is(await previewsOf(erased.tenantId, execution), '|');
  t.is(await previewsOf(erased.tenantId, randomUUID()), 'asked|told');
  t.is(await previewsOf(erased.tenantId, null), 'asked|told');
  t.is(await previewsOf(other.tenantId, execution), 'asked|told');
});

interface Race {
  readonly recording: pg.Client;
  readonly erasing: pg.Client;
  readonly record: () => Promise<string>;
  readonly erase: () => Promise<void>;
  readonly words: () => Promise<readonly string[]>;
}

/** A turn runs in a session, or has just ended and is summed up. One connection records a call of it, another erases the session; neither has committed. */
async function race(t: ExecutionContext, turn: 'runs' | 'has ended' = 'runs'): Promise<Race> {
  const [recording, erasing] = [await ownerView(database.url), await ownerView(database.url)];
  const store = await openStore({ databaseUrl: database.url });
  t.teardown(() => Promise.all([recording.end(), erasing.end(), store.close()]));
  const { tenantId } = await insertTenant(store);
  const [agent, session, execution] = [randomUUID(), randomUUID(), randomUUID()];
  await erasing.query('select prepare_call_partitions(now())');
  await erasing.query(
    `insert into agents (tenant_id, id, document) values ($1, $2, '{"name": "a", "type": "chat"}')`,
    [tenantId, agent],
  );
  await erasing.query(
    `insert into sessions (tenant_id, id, agent_id, slot, channel, created_at, last_interaction)
      values ($1, $2, $3, 0, 'web', now(), now())`,
    [tenantId, session, agent],
  );
  await erasing.query(
    `insert into executions (tenant_id, id, agent_id, session_id, slot, arrival, channel, status, due_at, input, created_at)
      values ($1, $2, $3, $4, 0, 0, 'web', 'running', now(), '{}', now())`,
    [tenantId, execution, agent, session],
  );
  if (turn === 'has ended') {
    await erasing.query(
      `update executions set status = 'completed', outcome = 'COMPLETED', finished_at = now() where id = $1`,
      [execution],
    );
  }
  await recording.query('begin');
  await erasing.query('begin');
  return {
    recording,
    erasing,
    record: () => recordCall(recording, tenantId, execution, session),
    erase: async () => {
      const values = [tenantId, session];
      await erasing.query('delete from executions where tenant_id = $1 and session_id = $2', values);
      await erasing.query('delete from sessions where tenant_id = $1 and id = $2', values);
    },
    words: async () => {
      const { rows } = await erasing.query<{ words: string }>(
        'select input_preview || output_preview as words from calls where tenant_id = $1',
        [tenantId],
      );
      return rows.map(({ words }) => words);
    },
  };
}

test('an erasure waits for a call that is being recorded, and blanks its previews', async (t) => {
  const { recording, erasing, record, erase, words } = await race(t);
  t.is(await record(), 'asked|told');
  const erased = erase();
  await eventually(async () => (await waitersFor(recording)).length === 1, { what: 'the erasure waits' });
  await recording.query('commit');
  await erased;
  await erasing.query('commit');
  t.deepEqual(await words(), ['']);
});

test('a call that is recorded during an erasure does not wait for it, and has no previews', async (t) => {
  const { recording, erasing, record, erase, words } = await race(t);
  await erase();
  t.is(await record(), '|');
  await recording.query('commit');
  await erasing.query('commit');
  t.deepEqual(await words(), ['']);
});

test('a summary that is recorded after its session was deleted has no previews', async (t) => {
  const { erasing, record, erase } = await race(t, 'has ended');
  await erase();
  await erasing.query('commit');
  t.is(await record(), '|');
});
