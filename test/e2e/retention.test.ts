// For how long a tenant's rows are kept, and the sweep that removes them.
import test from 'ava';
import { systemTime } from '../../cluster/index.js';
import { RetentionSweep } from '../../src/app/node/retention-sweep.js';
import { openStore } from '../../src/infra/storage/index.js';
import { retentionDefaults } from '../../src/kernel/retention.js';
import { claimSweep } from '../../src/tenancy/identity/tenants.store.js';
import { asOwner } from '../support/builders/triggers.js';
import { ownerView } from '../support/database/owner-view.js';
import { startConversations } from '../support/servers/conversations.js';
import { startTestNode } from '../support/servers/node.js';

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
  await owner.query(`update tenants set swept_at = now() - interval '61 minutes'`);

  const store = await openStore({ databaseUrl });
  t.teardown(() => store.close());
  const problems: unknown[] = [];
  const claims: string[] = [];
  const sweepOfNode = (): RetentionSweep =>
    new RetentionSweep({
      store,
      tenants: {
        async claimSweep(now) {
          const claimed = await store.directory((tx) => claimSweep(tx, now));
          if (claimed === null) return null;
          claims.push(claimed.id);
          return {
            id: claimed.id,
            retention: { ...retentionDefaults, ...claimed.retention } as typeof retentionDefaults,
          };
        },
      },
      sessions: {
        eraseKnown: async (_scope, id) =>
          (await client.call('DELETE', `/api/v1/sessions/${id}`, { key: bootstrap.api_key })).status === 200,
        finishErasure: () => Promise.resolve(false),
      },
      time: systemTime,
      report: (_attempted, error) => problems.push(error),
    });
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
});
