// A session with very many messages is erased in batches: other sessions go on, and the end of its node loses nothing.
import test from 'ava';
import type pg from 'pg';
import { eventually } from '../support/clocks/eventually.js';
import { servedTime } from '../support/clocks/served-time.js';
import { ownerView } from '../support/database/owner-view.js';
import { startConversations } from '../support/servers/conversations.js';
import { startTestNode } from '../support/servers/node.js';
import { startNodes } from '../support/servers/nodes.js';

const marker = 'planted-in-a-large-session';

/** Messages, ended executions with steps and answers, and calls with previews, beside what the session has already. */
async function enlarge(
  owner: pg.Client,
  sessionId: string,
  { messages, executions }: { readonly messages: number; readonly executions: number },
): Promise<void> {
  await owner.query(
    `insert into messages (tenant_id, session_id, number, id, role, content, created_at)
     select tenant_id, id, 1000 + n, gen_random_uuid(), 'user', $2 || ' ' || n, now()
     from sessions, generate_series(1, $3::int) n where id = $1`,
    [sessionId, marker, messages],
  );
  await owner.query(
    `insert into executions (tenant_id, id, session_id, agent_id, slot, arrival, channel, status, outcome, due_at, input,
       output, created_at)
     select tenant_id, gen_random_uuid(), id, agent_id, slot, 1000 + n, 'chat', 'completed', 'COMPLETED', now(),
       jsonb_build_object('message', $2::text), $2, now() from sessions, generate_series(1, $3::int) n where id = $1`,
    [sessionId, marker, executions],
  );
  await owner.query(
    `insert into execution_steps (tenant_id, execution_id, number, kind, name, state, detail, started_at)
     select tenant_id, id, n, 'model', 'm', 'finished', jsonb_build_object('word', $2::text), now()
     from executions, generate_series(1, 3) n where session_id = $1 and arrival > 1000`,
    [sessionId, marker],
  );
  await owner.query(
    `insert into calls (tenant_id, started_at, call_id, session_id, call_source, provider, model, first_model, status,
       from_cache, attempts, input_tokens, output_tokens, cached_tokens, cache_creation_tokens, cost, response_time_ms,
       input_preview, output_preview)
     select tenant_id, now() - interval '1 second' * (arrival / 3), gen_random_uuid(), session_id, 's', 'v', 'm', 'm',
       'success', false, 1, 1, 1, 0, 0, 0, 1, $2, $2 from executions where session_id = $1 and arrival > 1000`,
    [sessionId, marker],
  );
  await owner.query('vacuum analyze messages, executions, execution_steps, calls');
}

async function countOf(owner: pg.Client, sessionId: string): Promise<Record<string, number>> {
  const { rows } = await owner.query<Record<string, number>>(
    `select (select count(*)::int from messages where session_id = $1) as messages,
       (select count(*)::int from executions where session_id = $1) as executions,
       (select count(*)::int from execution_steps where detail ->> 'word' = $2) as steps,
       (select count(*)::int from calls where session_id = $1 and input_preview || output_preview <> '') as previews,
       (select count(*)::int from sessions where id = $1) as sessions,
       (select count(*)::int from begun_erasures) as begun`,
    [sessionId, marker],
  );
  return rows[0] ?? {};
}

const nothing = { messages: 0, executions: 0, steps: 0, previews: 0, sessions: 0, begun: 0 };

test.serial(
  'turns go on while a session of 200,000 messages is erased, and nothing of it is left',
  async (t) => {
    t.timeout(300_000);
    const node = await startTestNode(t);
    const owner = await ownerView(node.databaseUrl);
    t.teardown(() => owner.end());
    const talk = await startConversations(node);
    const { sessionId } = await talk.say({ message: `hello ${marker}` });
    const { sessionId: other } = await talk.say({ message: 'hello' });
    await enlarge(owner, sessionId, { messages: 200_000, executions: 3_000 });

    const servedMs = servedTime(t);
    const turn = async (): Promise<number> => {
      const startedAt = servedMs();
      const { events } = await talk.say({ message: 'and?', session_id: other });
      t.is(events.at(-1)?.data['outcome'], 'COMPLETED');
      return servedMs() - startedAt;
    };
    const calm: number[] = [];
    for (let count = 0; count < 20; count += 1) calm.push(await turn());
    const erasure = { isOver: false };
    const startedAt = performance.now();
    const erased = node.client
      .call('DELETE', `/api/v1/sessions/${sessionId}`, { key: node.bootstrap.api_key })
      .finally(() => {
        erasure.isOver = true;
      });
    const beside: number[] = [];
    const seen = new Set<number>();
    while (!erasure.isOver) {
      beside.push(await turn());
      seen.add((await countOf(owner, sessionId))['messages'] ?? 0);
    }
    const { status, text } = await erased;
    t.is(status, 200, text);
    const tookMs = performance.now() - startedAt;
    const slowest = Math.max(...beside);
    t.log(
      `erased in ${tookMs.toFixed(0)} ms; the slowest of ${beside.length} turns took ${slowest.toFixed(0)} ms, in calm times ` +
        `${Math.max(...calm).toFixed(0)} ms`,
    );
    t.true(seen.size >= 5, `not by one statement: ${[...seen].join()}`);
    t.true(slowest < 1_500 + 3 * Math.max(...calm), `a turn took ${slowest} ms`);

    t.deepEqual(await countOf(owner, sessionId), nothing);
    const get = (path: string) => node.client.call('GET', path, { key: node.bootstrap.api_key });
    t.is((await get(`/api/v1/sessions/${sessionId}`)).status, 404);
    t.is((await get(`/api/v1/sessions/${sessionId}/messages`)).status, 404);
    t.is((await get(`/api/v1/sessions?search=${marker}`)).json.count, 0);
    t.is((await get(`/api/v1/executions?session_id=${sessionId}`)).json.count, 0);
    const { data: entries } = (await get(`/api/v1/audit?target=${sessionId}`)).json;
    t.is(entries.length, 1, JSON.stringify(entries));
    t.like(entries[0], { action: 'sessions.erase', outcome: 'done' });
    t.truthy(entries[0].request_id);
  },
);

test.serial('another node ends the erasure of a node that died', async (t) => {
  t.timeout(300_000);
  const all = await startNodes(t, { count: 2 });
  const [first, second] = all.nodes;
  if (first === undefined || second === undefined) return t.fail();
  const owner = await ownerView(all.databaseUrl);
  t.teardown(() => owner.end());
  const { api_key: key, agent_id: agentId } = all.bootstrap;
  const said = await first.client.call('POST', `/api/v2/agents/${agentId}/stream`, {
    key,
    body: { message: `hello ${marker}` },
  });
  t.is(said.status, 200, said.text);
  const { rows } = await owner.query<{ id: string }>('select id from sessions');
  const sessionId = rows[0]?.id ?? '';
  await enlarge(owner, sessionId, { messages: 60_000, executions: 300 });

  // The batches come as far as this row, and no further before the node has died.
  await owner.query('begin');
  await owner.query('select from messages where session_id = $1 and number = 31000 for update', [sessionId]);
  // It ends with its node.
  const erasing = first.client
    .call('DELETE', `/api/v1/sessions/${sessionId}`, { key })
    .catch(() => undefined);
  await eventually(async () => {
    const { messages = 0, begun } = await countOf(owner, sessionId);
    return begun === 1 && messages < 59_000;
  });
  await first.kill();
  await erasing;
  const left = await countOf(owner, sessionId);
  t.true((left['messages'] ?? 0) > 0 && left['sessions'] === 1, JSON.stringify(left));
  await owner.query('rollback');
  await owner.query(`update begun_erasures set due_at = now() - interval '1 second'`);
  await eventually(async () => (await countOf(owner, sessionId))['begun'] === 0, {
    timeoutMs: 200_000,
    everyMs: 250,
    what: 'the other node ends the erasure',
  });
  t.deepEqual(await countOf(owner, sessionId), nothing);
  t.is((await second.client.call('GET', `/api/v1/sessions/${sessionId}`, { key })).status, 404);
  const audit = await second.client.call('GET', `/api/v1/audit?target=${sessionId}&action=sessions.erase`, {
    key,
  });
  t.is(audit.json.data.length, 1, 'the entry is as durable as the intent');
});

test.serial("a person's large session is erased in batches too, and its counts are told", async (t) => {
  t.timeout(300_000);
  const node = await startTestNode(t);
  const owner = await ownerView(node.databaseUrl);
  t.teardown(() => owner.end());
  const talk = await startConversations(node);
  const { sessionId } = await talk.say({ message: `hello ${marker}`, consumer_key: 'ann' });
  await enlarge(owner, sessionId, { messages: 30_000, executions: 1_000 });
  const before = await countOf(owner, sessionId);

  const erasure = { isOver: false };
  const erased = node.client
    .call('DELETE', '/api/v1/consumers/ann', { key: node.bootstrap.api_key })
    .finally(() => {
      erasure.isOver = true;
    });
  const seen = new Set<number>();
  while (!erasure.isOver) seen.add((await countOf(owner, sessionId))['messages'] ?? 0);
  const { status, json, text } = await erased;
  t.is(status, 200, text);
  t.deepEqual(json.data, { sessions: 1, messages: before['messages'], executions: before['executions'] });
  t.true(seen.size >= 4, `not by one statement: ${[...seen].join()}`);
  t.deepEqual(await countOf(owner, sessionId), nothing);
});
