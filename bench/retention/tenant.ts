import { randomUUID } from 'node:crypto';
import type pg from 'pg';

/** A tenant that has kept all it wrote for 400 days, and another that keeps a row of every month. */
export interface LargeTenant {
  readonly id: string;
  /** Whether rows are left that the sweep removes. */
  isSwept(): Promise<boolean>;
  isGone(): Promise<boolean>;
}

const days = 400;
const keptDays = 30;
const messagesOfSession = 200;
const rowsAtOnce = 100_000;

export async function makeLargeTenant(
  client: pg.Client,
  { messages, calls }: { readonly messages: number; readonly calls: number },
): Promise<LargeTenant> {
  const [id, agent, other] = [randomUUID(), randomUUID(), randomUUID()];
  await seeAllTenants(client);
  await client.query(
    `create function bench_id(name text) returns uuid language sql immutable
     return overlay(overlay(md5(name) placing '4' from 13) placing '8' from 17)::uuid`,
  );
  await client.query(
    `insert into tenants (id, name, retention) values ($1, 'large', $2), ($3, 'other', '{}')`,
    [
      id,
      { messages_days: keptDays, executions_days: keptDays, previews_days: keptDays, usage_days: keptDays },
      other,
    ],
  );
  // It is not due before the bench says so.
  await client.query(`update tenants set swept_at = now() + interval '1 day' where id = any($1)`, [
    [id, other],
  ]);
  await client.query(
    `select prepare_call_partitions(m) from generate_series(now() - interval '14 months', now(), interval '1 month') m`,
  );
  await client.query(
    `insert into agents (tenant_id, id, document) values ($1, $2, '{"name": "a", "type": "chat"}')`,
    [id, agent],
  );
  const sessions = Math.max(1, Math.floor(messages / messagesOfSession));
  await client.query(
    `insert into sessions (tenant_id, id, agent_id, slot, channel, created_at, last_interaction)
     select $1, bench_id('session' || n), $2, 0, 'chat', now() - interval '400 days',
       now() - interval '${days} days' * ((n + 1)::float8 / $3)
     from generate_series(0, $3::int - 1) n`,
    [id, agent, sessions],
  );
  await inParts(messages, (from, to) =>
    client.query(
      `insert into messages (tenant_id, session_id, number, id, role, content, created_at)
       select $1, bench_id('session' || n / ${messagesOfSession}), n % ${messagesOfSession} + 1, gen_random_uuid(),
         'user', repeat('words of a message ', 10), now() - interval '${days} days' * (1 - n::float8 / $4)
       from generate_series($2::int, $3::int - 1) n`,
      [id, from, to, messages],
    ),
  );
  const call = `insert into calls (tenant_id, started_at, call_id, session_id, call_source, provider, model, first_model,
      status, from_cache, attempts, input_tokens, output_tokens, cached_tokens, cache_creation_tokens, cost,
      response_time_ms, input_preview, output_preview)
    select $1, at, gen_random_uuid(), bench_id('session' || n % ${sessions}), 'agent.tool-loop', 'openai', 'openai.m',
      'openai.m', 'success', false, 1, 1000, 100, 0, 0, 0.001, 900, repeat('asked ', 10), repeat('told ', 10)`;
  await inParts(calls, (from, to) =>
    client.query(
      `${call} from (select n, now() - interval '${days} days' * (1 - n::float8 / $4) as at
        from generate_series($2::int, $3::int - 1) n) moments`,
      [id, from, to, calls],
    ),
  );
  await client.query(
    `${call} from (select row_number() over () as n, at
      from generate_series(now() - interval '390 days', now(), interval '7 days') at) moments`,
    [other],
  );
  await client.query('vacuum analyze');
  const has = async (text: string, values: readonly unknown[]): Promise<boolean> =>
    ((await client.query(`${text} limit 1`, [...values])).rowCount ?? 0) > 0;
  const old = `now() - interval '${keptDays} days' - interval '1 minute'`;
  return {
    id,
    isSwept: async () =>
      !(await has(`select from sessions where tenant_id = $1 and last_interaction < ${old}`, [id])),
    isGone: async () => !(await has('select from tenants where id = $1', [id])),
  };
}

/** The walls between tenants hide their rows from the owner of the tables too. The node's roles stay bound. */
async function seeAllTenants(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    'select quote_ident(relname) as name from pg_class where relforcerowsecurity',
  );
  for (const { name } of rows) await client.query(`alter table ${name} no force row level security`);
}

async function inParts(count: number, part: (from: number, to: number) => Promise<unknown>): Promise<void> {
  for (let from = 0; from < count; from += rowsAtOnce) await part(from, Math.min(count, from + rowsAtOnce));
}
