import test from 'ava';
import { type ParsedMail, simpleParser } from 'mailparser';
import { SettingsError } from '../../src/kernel/config/index.js';
import { serveCommand } from '../../src/app/command/serve.js';
import { lookUpIn, type Records, silentNameServer } from '../support/servers/dns-records.js';
import { eventually } from '../support/clocks/eventually.js';
import { startMailServer } from '../support/servers/mail-server.js';
import { answersOf, sendMail, sharedMailNode, startMailNode } from '../support/servers/mails.js';
import type { TenantNode } from '../support/servers/node.js';
import { ownerView } from '../support/database/owner-view.js';
import { makeTenant } from '../support/builders/tenants.js';
import { asOwner, createTrigger, executionsOf, type TestTrigger } from '../support/builders/triggers.js';

const records: Records = {};
// Tests follow each other: a mail that a busy machine does not read in time is told to come again.
const shared = sharedMailNode(test, () => ({
  environment: { TROUPE_MAIL_DOMAIN: 'agents.example' },
  lookUp: lookUpIn(records),
}));

function firstMail(node: TenantNode, trigger: TestTrigger): Promise<ParsedMail> {
  return eventually(async () => (await answersOf(node, trigger))[0], { everyMs: 100 });
}

test.serial(
  "an answer comes from the trigger's address in the operator's domain, with that address for replies",
  async (t) => {
    const node = await shared.tenant(t);
    const trigger = await createTrigger(node, {}, 'email');
    const to = `${trigger.id}@agents.example`;
    t.is(await sendMail(node.mailPort, { to: `${trigger.id}@elsewhere.example`, text: 'hello' }), 550);
    t.is(await sendMail(node.mailPort, { to, text: 'hello' }), 250);
    const answer = await firstMail(node, trigger);
    t.is(answer.from?.text, to);
    t.is(answer.replyTo?.text, to);
  },
);

test.serial('an address in an unverified domain is refused with the field', async (t) => {
  const node = await shared.tenant(t);
  const body = (address: string) => ({
    agent_id: node.bootstrap.agent_id,
    name: 'desk',
    trigger_type: 'email',
    trigger_config: { address },
  });
  for (const address of ['ceo@bank.example', 'x@agents.example', 'desk@sub.agents.example']) {
    const { status, json } = await asOwner(node, 'POST', '/api/triggers', body(address));
    t.is(status, 400, address);
    t.is(json.error, 'validation_error');
    t.is(json.details.field, 'trigger_config.address');
  }
  const trigger = await createTrigger(node, {}, 'email');
  const patched = await asOwner(node, 'PATCH', `/api/triggers/${trigger.id}`, {
    trigger_config: { address: 'ceo@bank.example' },
  });
  t.is(patched.status, 400);
  t.is(patched.json.details.field, 'trigger_config.address');
  const itsOwn = { trigger_config: { address: `${trigger.id}@agents.example` } };
  t.is((await asOwner(node, 'PATCH', `/api/triggers/${trigger.id}`, itsOwn)).status, 200);
});

test.serial('a domain verified by its TXT record can send until it is released', async (t) => {
  const node = await shared.tenant(t);
  const made = await asOwner(node, 'POST', '/api/mail-domains', { domain: 'Hotel.Example.' });
  t.is(made.status, 201);
  const { id, record } = made.json.data;
  t.like(made.json.data, { domain: 'hotel.example', status: 'pending', verified_at: null });
  t.is(record.type, 'TXT');
  const missing = await asOwner(node, 'POST', `/api/mail-domains/${id}/verify`);
  t.is(missing.status, 409);
  t.true(missing.json.message.includes(record.name));
  records[`TXT ${record.name}`] = silentNameServer();
  const silent = await asOwner(node, 'POST', `/api/mail-domains/${id}/verify`);
  t.is(silent.status, 502);
  t.is(silent.json.details.provider, 'dns');
  t.true(silent.json.details.original_error.length > 0);
  // Long texts arrive in pieces, beside other records.
  records[`TXT ${record.name}`] = [['v=spf1 -all'], [record.value.slice(0, 10), record.value.slice(10)]];
  const verified = await asOwner(node, 'POST', `/api/mail-domains/${id}/verify`);
  t.is(verified.status, 200);
  t.is(verified.json.data.status, 'verified');
  const told = await asOwner(node, 'GET', '/api/v1/audit?action=mail-domains.verify');
  t.deepEqual(told.json.data[0]?.changes, { status: { old: 'pending', new: 'verified' } });
  const listed = await asOwner(node, 'GET', '/api/mail-domains');
  t.like(listed.json, { count: 1 });

  const trigger = await createTrigger(node, { address: 'Desk@Hotel.example' }, 'email');
  t.is(await sendMail(node.mailPort, { to: 'desk@hotel.example', text: 'hello' }), 250);
  const answer = await firstMail(node, trigger);
  t.is(answer.from?.text, 'desk@hotel.example');
  t.is(answer.replyTo?.text, `${trigger.id}@agents.example`);
  t.is((await asOwner(node, 'DELETE', `/api/mail-domains/${id}`)).status, 200);
  t.is(await sendMail(node.mailPort, { to: 'desk@hotel.example', text: 'gone' }), 550);
  t.is(await sendMail(node.mailPort, { to: `${trigger.id}@agents.example`, text: 'still here' }), 250);
  const next = await eventually(async () =>
    (await answersOf(node, trigger)).find(({ text }) => text?.includes('still')),
  );
  t.is(next.from?.text, `${trigger.id}@agents.example`);
  const owner = await ownerView(node.databaseUrl);
  t.teardown(() => owner.end());
  const { rows } = await owner.query(
    `select action from audit_entries where tenant_id = $1 and action like 'mail-domains.%' order by action`,
    [node.bootstrap.tenant_id],
  );
  t.deepEqual(
    rows.map(({ action }) => action),
    ['mail-domains.create', 'mail-domains.delete', 'mail-domains.verify'],
  );
});

test.serial('a domain that one tenant has verified is refused to others', async (t) => {
  const node = await shared.tenant(t);
  const [one, other] = [await makeTenant(node), await makeTenant(node)];
  const call = (of: typeof one, method: string, path: string, body?: unknown) =>
    node.client.call(method, path, {
      token: of.users.owner.token,
      tenant: of.tenantId,
      ...(body === undefined ? {} : { body }),
    });
  const ids: string[] = [];
  const values: string[][] = [];
  for (const of of [one, other]) {
    const made = await call(of, 'POST', '/api/mail-domains', { domain: 'inn.example' });
    t.is(made.status, 201);
    ids.push(made.json.data.id);
    values.push([made.json.data.record.value]);
  }
  t.notDeepEqual(values[0], values[1], 'each tenant has a token of its own');
  records['TXT _troupe.inn.example'] = values;
  t.is((await call(one, 'POST', `/api/mail-domains/${ids[0]}/verify`)).status, 200);
  t.is((await call(other, 'POST', `/api/mail-domains/${ids[1]}/verify`)).status, 409);
  t.is((await call(other, 'POST', `/api/mail-domains/${ids[0]}/verify`)).status, 404);
  t.is((await call(other, 'DELETE', `/api/mail-domains/${ids[0]}`)).status, 404);
  t.is((await call(one, 'POST', '/api/mail-domains', { domain: 'inn.example' })).status, 409);
  for (const domain of ['agents.example', 'hotel', '10.0.0.1', 'a b.example', '']) {
    const refused = await call(one, 'POST', '/api/mail-domains', { domain });
    t.is(refused.status, 400, domain);
    t.is(refused.json.details.field, 'domain');
  }
  const agent = await asOwner(node, 'GET', '/api/mail-domains');
  t.like(agent.json, { count: 0 });
});

test.serial(
  'mails that leave the machine use no unverified address, also without a mail domain',
  async (t) => {
    const server = await startMailServer();
    t.teardown(() => server.close());
    // Of its own: settings are tried.
    const node = await startMailNode(t, { TROUPE_SMTP_URL: server.url });
    const refused = await asOwner(node, 'POST', '/api/triggers', {
      agent_id: node.bootstrap.agent_id,
      name: 'desk',
      trigger_type: 'email',
      trigger_config: { address: 'ceo@bank.example' },
    });
    t.is(refused.status, 400);
    const trigger = await createTrigger(node, {}, 'email');
    t.is(await sendMail(node.mailPort, { to: `${trigger.id}@bank.example`, text: 'hello' }), 250);
    await eventually(() => server.taken.length > 0, { everyMs: 100 });
    const answer = await simpleParser(String(server.taken[0]));
    t.is(answer.from?.text, `${trigger.id}@[127.0.0.1]`);
    await eventually(async () => (await executionsOf(node, trigger))[0]?.['delivery_status'] === 'delivered');
  },
);

test.serial('serve with an SMTP port requires a mail domain', async (t) => {
  const environment = {
    DATABASE_URL: 'postgresql://nobody@127.0.0.1:1/none',
    REDIS_URL: 'redis://127.0.0.1:1',
    TROUPE_MASTER_KEY: Buffer.alloc(32).toString('base64'),
    TROUPE_SMTP_IN_PORT: '2525',
  };
  const error = await t.throwsAsync(async () => serveCommand.run([], environment), {
    instanceOf: SettingsError,
  });
  t.true(error?.message.includes('TROUPE_MAIL_DOMAIN is missing; TROUPE_SMTP_IN_PORT needs it'));
});
