// Tenant isolation also holds for published views.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import pg from 'pg';
import { databaseOfFile } from '../../../support/database/database.js';
import { ownerView } from '../../../support/database/owner-view.js';

const database = databaseOfFile(test);
const tenants = [randomUUID(), randomUUID()] as const;

/** One row of the tenant for each table behind a view. */
async function fill(owner: pg.Client, tenant: string): Promise<void> {
  const ids = {
    tenant,
    agent: randomUUID(),
    session: randomUUID(),
    execution: randomUUID(),
    trigger: randomUUID(),
  };
  const insert = async (text: string, ...names: readonly (keyof typeof ids)[]): Promise<void> => {
    const values = names.map((name) => ids[name]);
    await owner.query(text, [ids.tenant, ...values]);
  };
  await insert("insert into tenants (id, name) values ($1, 'one')");
  await insert(
    `insert into agents (tenant_id, id, document) values ($1, $2, '{"name": "a", "type": "chat"}')`,
    'agent',
  );
  await insert(
    `insert into triggers (tenant_id, id, agent_id, name, trigger_type, config)
      values ($1, $2, $3, 'hook', 'webhook', '{}')`,
    'trigger',
    'agent',
  );
  await insert(
    `insert into sessions (tenant_id, id, agent_id, slot, channel, created_at, last_interaction, control_mode, control_kind)
      values ($1, $2, $3, 0, 'web', now(), now(), 'manual_handoff', 'handoff')`,
    'session',
    'agent',
  );
  await insert(
    `insert into executions (tenant_id, id, agent_id, slot, arrival, channel, status, due_at, input, created_at)
      values ($1, $2, $3, 0, 0, 'web', 'queued', now(), '{}', now())`,
    'execution',
    'agent',
  );
  await insert(
    `insert into execution_steps (tenant_id, execution_id, number, kind, name, state, detail, started_at)
      values ($1, $2, 1, 'tool', 'x', 'finished', '{"steps": []}', now())`,
    'execution',
  );
  await insert('insert into ended_by_erasure (tenant_id, id) values ($1, $2)', 'execution');
  await insert(
    `insert into trigger_inbox (tenant_id, trigger_id, key, session_id, execution_id, state, payload_hash, sealed, due_at,
        expires_at)
      values ($1, $2, 'k', $3, $4, 'running', '', '', now(), now())`,
    'trigger',
    'session',
    'execution',
  );
  await insert(
    `insert into calls (tenant_id, started_at, call_id, call_source, provider, model, first_model, status, from_cache,
        attempts, input_tokens, output_tokens, cached_tokens, cache_creation_tokens, cost, response_time_ms,
        input_preview, output_preview)
      values ($1, now(), $2, 's', 'p', 'm', 'm', 'success', false, 1, 1, 1, 0, 0, 0, 1, '', '')`,
    'execution',
  );
  await insert(
    `insert into usage_rows (tenant_id, attempt_id, call_id, attempt_number, source, vendor, model, payer, month, opened_at,
        deadline_at, input_estimate, output_estimate, cost_estimate, process_id)
      values ($1, $2, $2, 1, 'direct', 'sim', 'm', 'platform', date_trunc('month', now()), now(), now(), 1, 1, 0, 'p')`,
    'execution',
  );
  await insert(
    `insert into call_hours (tenant_id, hour, agent_id, key_id, user_id, provider, model, call_source, payer, status, failure,
        calls, vendor_calls, input_tokens, output_tokens, cost, response_time_ms, latency, cache_hits, cached_tokens,
        cache_creation_tokens, fallbacks, ledger_calls, ledger_input_tokens, ledger_output_tokens, ledger_cost)
      values ($1, now(), $2, $2, $2, 'p', 'm', 's', 'none', 'success', '', 1, 1, 1, 1, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0)`,
    'agent',
  );
  await insert('insert into summed_days values ($1, now())');
  await insert(
    `insert into call_days values ($1, now(), $2, 'p', 'm', 's', 'success', '', 1, 1, 1, 1, 0, 1, 1, 0, 0, 0, 0)`,
    'agent',
  );
  await insert('insert into hour_totals values ($1, now(), 1, 1, 0)');
}

test.serial.before(async () => {
  const owner = await ownerView(database.url);
  try {
    for (const tenant of tenants) await fill(owner, tenant);
  } finally {
    await owner.end();
  }
});

test('the application role reads only its tenant through a view, and nothing without a tenant', async (t) => {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  try {
    const { rows: views } = await client.query<{ name: string }>(
      `select oid::regclass::text as name from pg_class
       where relkind = 'v' and relnamespace in ('public'::regnamespace, 'reports'::regnamespace)
         and has_table_privilege('troupe_app', oid, 'select') order by 1`,
    );
    t.true(views.length >= 8, views.map(({ name }) => name).join());
    await client.query('set role troupe_app');
    for (const { name } of views) {
      for (const tenant of tenants) {
        await client.query("select set_config('troupe.tenant_id', $1, false)", [tenant]);
        const { rows } = await client.query(`select tenant_id from ${name}`);
        t.deepEqual(rows, [{ tenant_id: tenant }], name);
      }
      await client.query("select set_config('troupe.tenant_id', '', false)");
      t.deepEqual((await client.query(`select tenant_id from ${name}`)).rows, [], name);
    }
  } finally {
    await client.end();
  }
});
