// For how long a tenant's rows are kept, and the sweep that removes them.
import test, { type ExecutionContext } from 'ava';
import { systemTime } from '../../cluster/index.js';
import { RetentionSweep } from '../../src/app/node/retention-sweep.js';
import { openStore } from '../../src/infra/storage/index.js';
import { retentionDefaults, retentionOf } from '../../src/kernel/retention.js';
import { claimSweep } from '../../src/tenancy/identity/tenants.store.js';
import { asOwner } from '../support/builders/triggers.js';
import { ownerView } from '../support/database/owner-view.js';
import { startConversations } from '../support/servers/conversations.js';
import { startTestNode, type TestNode } from '../support/servers/node.js';

/** Sweeps like nodes of the same database, with the clock that is handed in. */
async function sweeping(t: ExecutionContext, { databaseUrl, client, bootstrap }: TestNode) {
  const store = await openStore({ databaseUrl });
  t.teardown(() => store.close());
  const problems: unknown[] = [];
  const claims: string[] = [];
  const sweepOfNode = (aheadMs = 0): RetentionSweep =>
    new RetentionSweep({
      store,
      tenants: {
        async claimSweep() {
          const claimed = await store.directory(claimSweep);
          if (claimed === null) return null;
          claims.push(claimed.id);
          return { ...claimed, retention: retentionOf(claimed.retention) };
        },
      },
      sessions: {
        eraseUnused: async (_scope, id) =>
          (await client.call('DELETE', `/api/v1/sessions/${id}`, { key: bootstrap.api_key })).status === 200,
        finishErasure: () => Promise.resolve(false),
      },
      time: { ...systemTime, wallMs: () => systemTime.wallMs() + aheadMs },
      report: (_attempted, error) => problems.push(error),
    });
  return { problems, claims, sweepOfNode };
}

const swept = [
  'sessions',
  'messages',
  'executions',
  'attachments',
  `calls where output_preview <> ''`,
  'usage_rows',
  'stored_responses',
  'spent_costs',
  `audit_entries where action = 'test.old'`,
  `platform_audit_entries where action = 'test.old'`,
];

test('a tenant sets for how many days its data is kept, within bounds', async (t) => {
  const node = await startTestNode(t);
  const path = `/api/tenants/${node.bootstrap.tenant_id}`;
  const shown = async () => (await asOwner(node, 'GET', path)).json.data.retention;
  t.deepEqual(await shown(), {
    messages_days: 365,
    executions_days: 90,
    previews_days: 30,
    usage_days: 400,
    audit_days: 400,
  });
  const set = await asOwner(node, 'PATCH', path, { retention: { messages_days: 3_650, previews_days: 1 } });
  t.is(set.status, 200, set.text);
  t.deepEqual(set.json.data.retention, { ...retentionDefaults, messages_days: 3_650, previews_days: 1 });
  await asOwner(node, 'PATCH', path, { retention: { messages_days: null } });
  t.deepEqual(await shown(), { ...retentionDefaults, previews_days: 1 });
  for (const audit_days of [0, 3_651, 1.5, '7']) {
    const refused = await asOwner(node, 'PATCH', path, { retention: { audit_days } });
    t.is(refused.status, 400);
    t.is(refused.json.error, 'validation_error');
    t.is(refused.json.details.field, 'retention.audit_days');
  }
  t.is((await asOwner(node, 'PATCH', path, { retention: { days: 7 } })).status, 400);
});

test('one node sweeps a tenant: rows older than its days go, younger ones stay', async (t) => {
  const node = await startTestNode(t);
  const { databaseUrl, bootstrap, client } = node;
  const talk = await startConversations(node);
  const old = await talk.say('an old word');
  const attachments = [{ type: 'file', data: Buffer.from('a word').toString('base64') }];
  const active = await talk.say({ message: 'the first word', attachments });
  await talk.say({ message: 'a new word', session_id: active.sessionId, attachments });
  await talk.say({ message: 'refused', session_id: active.sessionId, attachments });
  const owner = await ownerView(databaseUrl);
  t.teardown(() => owner.end());
  const { tenant_id: tenant } = bootstrap;
  for (const input of ['an old question', 'a new question']) {
    const body = { model: 'sim.echo', input };
    t.is((await client.call('POST', '/v1/responses', { key: bootstrap.api_key, body })).status, 200);
  }
  await owner.query(
    `update stored_responses set created_at = now() - interval '366 days'
     where id = (select id from stored_responses order by created_at limit 1)`,
  );
  const count = async (what: string): Promise<number> => {
    const { rows } = await owner.query<{ n: string }>(`select count(*) as n from ${what}`);
    return Number(rows[0]?.n);
  };
  await owner.query(`update sessions set last_interaction = now() - interval '366 days' where id = $1`, [
    old.sessionId,
  ]);
  await owner.query(`with numbered as (select id, row_number() over (order by created_at) as n from attachments)
    update attachments a set created_at = now() - case n when 1 then interval '366 days' else interval '3 days' end,
      message_id = case n when 3 then null else message_id end
    from numbered where numbered.id = a.id`);
  await owner.query(
    `update messages set created_at = now() - interval '366 days' where session_id = $1 and number <= 2`,
    [active.sessionId],
  );
  await owner.query(
    `update executions set created_at = now() - interval '91 days' where session_id = $1 and arrival = 1`,
    [active.sessionId],
  );
  await owner.query(`update calls set started_at = now() - interval '31 days' where session_id = $1`, [
    active.sessionId,
  ]);
  await owner.query(`update usage_rows set opened_at = now() - interval '401 days' where session_id = $1`, [
    active.sessionId,
  ]);
  const audit = `insert into audit_entries (tenant_id, recorded_at, actor, action, subject)
    values ($1, now() - $2::interval, 'system', 'test.old', 'x')`;
  await owner.query(audit, [tenant, '401 days']);
  await owner.query(audit, [tenant, '399 days']);
  const platform = `insert into platform_audit_entries (recorded_at, actor, action, subject)
    values (now() - $1::interval, 'system', 'test.old', 'x')`;
  await owner.query(platform, ['401 days']);
  await owner.query(platform, ['399 days']);
  const cost = `insert into spent_costs values ($1, current_date - $2::int, $1, $1, 7)`;
  await owner.query(cost, [tenant, 64]);
  await owner.query(cost, [tenant, 60]);
  await owner.query(`update execution_logs set expires_at = now() - interval '1 second'`);
  const keys = (await count('api_keys')) - 1;
  await owner.query(
    `update api_keys set revoked_at = now() - interval '401 days' where id = (select id from api_keys limit 1)`,
  );
  await owner.query(`update tenants set swept_at = now() - interval '61 minutes'`);

  const { problems, claims, sweepOfNode } = await sweeping(t, node);
  await Promise.all([sweepOfNode().sweep(), sweepOfNode().sweep()]);
  t.deepEqual(problems, []);
  t.deepEqual(claims, [tenant], 'two nodes, one sweep');
  t.is(await count(`sessions where id = '${old.sessionId}'`), 0);
  t.is(await count(`messages where session_id = '${old.sessionId}'`), 0);
  t.is(await count(`sessions where id = '${active.sessionId}'`), 1);
  t.is(await count(`messages where session_id = '${active.sessionId}'`), 4);
  t.is(await count('attachments'), 1, 'of a young message that was accepted');
  t.is(await count(`executions where session_id = '${active.sessionId}'`), 2);
  t.is(await count(`calls where session_id = '${active.sessionId}'`), 3);
  t.is(
    await count(`calls where session_id = '${active.sessionId}'and input_preview || output_preview <> ''`),
    0,
  );
  t.is(await count(`usage_rows where session_id = '${active.sessionId}'`), 0);
  t.is(await count(`audit_entries where action = 'test.old'`), 1);
  t.is(await count(`platform_audit_entries where action = 'test.old'`), 1);
  t.is(await count('stored_responses'), 1);
  t.is(await count(`spent_costs where nanos = 7`), 1);
  t.is(await count('execution_logs'), 0);
  t.is(await count('api_keys'), keys);
});

test('a node whose clock is a year ahead removes nothing that is kept', async (t) => {
  const node = await startTestNode(t);
  const { databaseUrl, bootstrap, client } = node;
  const talk = await startConversations(node);
  const attachments = [{ type: 'file', data: Buffer.from('a word').toString('base64') }];
  await talk.say({ message: 'a word', attachments });
  const body = { model: 'sim.echo', input: 'a question' };
  t.is((await client.call('POST', '/v1/responses', { key: bootstrap.api_key, body })).status, 200);
  const owner = await ownerView(databaseUrl);
  t.teardown(() => owner.end());
  const { tenant_id: tenant } = bootstrap;
  await owner.query(`insert into spent_costs values ($1, current_date, $1, $1, 7)`, [tenant]);
  const old = [tenant, 'system', 'test.old', 'x'];
  await owner.query(
    `insert into audit_entries (tenant_id, recorded_at, actor, action, subject)
     values ($1, now() - interval '9 days', $2, $3, $4)`,
    old,
  );
  await owner.query(
    `insert into platform_audit_entries (recorded_at, actor, action, subject)
     values (now() - interval '9 days', $1, $2, $3)`,
    old.slice(1),
  );
  const shown = async (): Promise<Record<string, number>> => {
    const counts = swept.map((what) => `(select count(*)::int from ${what}) as "${what}"`);
    const { rows } = await owner.query(`select ${counts.join(', ')}`);
    return rows[0];
  };
  await owner.query(`update tenants set swept_at = now() - interval '61 minutes'`);
  const before = await shown();
  const { problems, claims, sweepOfNode } = await sweeping(t, node);
  await sweepOfNode(400 * 86_400_000).sweep();
  t.deepEqual(problems, []);
  t.deepEqual(claims, [tenant]);
  t.deepEqual(await shown(), before);
  t.true(
    Object.values(before).every((rows) => rows > 0),
    JSON.stringify(before),
  );
  const future = 'select 1 from tenants where swept_at > now()';
  t.is((await owner.query(future)).rowCount, 0);

  await owner.query(`update tenants set swept_at = now() + interval '400 days'`);
  await sweepOfNode().sweep();
  t.deepEqual(claims, [tenant, tenant], 'a claim that such a clock made holds nobody');
  t.is((await owner.query(future)).rowCount, 0);
});
