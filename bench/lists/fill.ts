import type pg from 'pg';

export interface Filled {
  readonly tenants: number;
  readonly keysEach: number;
  /** Rows of each other kind in the tenant that is asked. */
  readonly rows: number;
}

/** Other tenants with their keys, users and sessions, and many rows of every listed kind in one tenant. */
export async function fill(
  client: pg.Client,
  asked: { readonly tenantId: string; readonly agentId: string },
  { tenants, keysEach, rows }: Filled,
): Promise<void> {
  const { rows: secured } = await client.query<{ name: string }>(
    'select quote_ident(relname) as name from pg_class where relforcerowsecurity',
  );
  // The walls between tenants hide their rows from the owner of the tables too. The node's roles stay bound.
  for (const { name } of secured) await client.query(`alter table ${name} no force row level security`);
  await client.query(
    `create function bench_id(name text) returns uuid language sql immutable
     return overlay(overlay(md5(name) placing '4' from 13) placing '8' from 17)::uuid`,
  );
  await client.query(
    `insert into tenants (id, name, created_at)
     select bench_id('tenant' || n), 'Company ' || n, now() - interval '1 minute' * n from generate_series(1, $1::int) n`,
    [tenants],
  );
  await client.query(
    `insert into users (id, email, name, created_at)
     select bench_id('user' || n), 'user' || n || '@example.com', 'Person ' || n, now() - interval '1 second' * n
     from generate_series(1, $1::int) n`,
    [tenants * 10],
  );
  await client.query(
    `insert into memberships (tenant_id, user_id, role)
     select bench_id('tenant' || n % $1::int + 1), bench_id('user' || n), 'member' from generate_series(1, $1::int * 10) n`,
    [tenants],
  );
  await client.query(
    `insert into memberships (tenant_id, user_id, role)
     select $1, bench_id('user' || n), 'member' from generate_series(1, $2::int) n`,
    [asked.tenantId, Math.min(1_000, tenants * 10)],
  );
  const everyTenant = `(select id from tenants where name like 'Company %' union all select $1::uuid) t`;
  await client.query(
    `insert into api_keys (tenant_id, id, hash, prefix, suffix, name, role, rate_limit_per_minute, created_by, created_at)
     select t.id, bench_id(t.id::text || n), sha256((t.id::text || n)::bytea), 'svc_live_', 'abcd', 'key ' || n, 'editor',
       60, 'user:' || bench_id('user1'), now() - interval '1 minute' * n
     from ${everyTenant}, generate_series(1, $2::int) n`,
    [asked.tenantId, keysEach],
  );
  await client.query(
    `insert into api_key_use (tenant_id, key_id, total_requests)
     select tenant_id, id, 7 from api_keys on conflict do nothing`,
  );
  await client.query(
    `insert into agents (tenant_id, id, document)
     select t.id, bench_id('agent' || t.id), '{"name": "a", "type": "chat"}' from tenants t where name like 'Company %'`,
  );
  const sessionsOf = (count: string) => `
    insert into sessions (tenant_id, id, agent_id, slot, consumer_key, channel, created_at, last_interaction)
    select a.tenant_id, bench_id('session' || a.tenant_id || n), a.id, 0, 'person' || n % 997, 'chat', now(),
      now() - interval '1 minute' * n
    from agents a, generate_series(1, ${count}) n`;
  await client.query(`${sessionsOf('20')} where a.tenant_id <> $1`, [asked.tenantId]);
  await client.query(`${sessionsOf('$3::int')} where a.tenant_id = $1 and a.id = $2`, [
    asked.tenantId,
    asked.agentId,
    rows,
  ]);
  await client.query(
    `insert into messages (tenant_id, session_id, number, id, role, content, created_at)
     select tenant_id, id, n, gen_random_uuid(), 'user', 'words about order ' || substr(id::text, 1, 4), now()
     from sessions, generate_series(1, 2) n`,
  );
  const [tenant] = [[asked.tenantId, rows]];
  await client.query(
    `insert into executions (tenant_id, id, session_id, agent_id, trigger_id, slot, arrival, channel, status, outcome, due_at,
       input, created_at, metadata)
     select $1::uuid, gen_random_uuid(), bench_id('session' || $1::uuid || n), $3, null, 0, 1, 'chat', 'completed', 'COMPLETED',
       now(), '{"message": "hello"}', now() - interval '1 minute' * n, jsonb_build_object('trace_id', 'trace' || n)
     from generate_series(1, $2::int) n`,
    [...tenant, asked.agentId],
  );
  await client.query(
    `insert into consumers (tenant_id, consumer_key, display_name, name_source, first_seen, last_seen, latest_at)
     select $1, 'person' || n, 'Person ' || n, 'declared', now(), now(), now() - interval '1 minute' * n
     from generate_series(1, $2::int) n`,
    tenant,
  );
  await client.query(
    `insert into audit_entries (tenant_id, recorded_at, actor, action, subject)
     select $1, now() - interval '1 minute' * n, 'user:' || bench_id('user' || n % 50), 'keys.change',
       'key:' || bench_id('key' || n)
     from generate_series(1, $2::int) n`,
    tenant,
  );
  await client.query(
    `insert into calls (tenant_id, started_at, call_id, session_id, call_source, provider, model, first_model, status,
       from_cache, attempts, input_tokens, output_tokens, cached_tokens, cache_creation_tokens, cost, response_time_ms,
       input_preview, output_preview)
     select $1::uuid, now() - interval '20 seconds' * n, gen_random_uuid(), bench_id('session' || $1::uuid || n % 5000),
       'agent.tool-loop', 'openai', 'openai.m', 'openai.m', 'success', false, 1, 1, 1, 0, 0, 0, 1, '', ''
     from generate_series(1, $2::int) n`,
    tenant,
  );
  await client.query('vacuum analyze');
}
