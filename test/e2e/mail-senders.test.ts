import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import test from 'ava';
import { createTransport } from 'nodemailer';
import { lookUpIn, type Records, silentNameServer } from '../support/servers/dns-records.js';
import { setPlan } from '../support/clients/direct-calls.js';
import { eventually } from '../support/clocks/eventually.js';
import { tablesWith } from '../support/database/tables-with.js';
import { startImapServer } from '../support/servers/imap-server.js';
import { answersOf, sendMail, sharedMailNode } from '../support/servers/mails.js';
import { operatorToken, type TenantNode } from '../support/servers/node.js';
import { addSecret, createTrigger, executionsOf } from '../support/builders/triggers.js';

const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
const publicText = publicKey.export({ type: 'spki', format: 'der' }).toString('base64');
const dkimOf = (domainName: string) => ({
  domainName,
  keySelector: 'k1',
  privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
});

/** What is known of all domains; each test has a domain of its own. */
const records: Records = {};
// Tests follow each other: a mail that a busy machine does not read in time is told to come again.
const shared = sharedMailNode(test, () => ({
  environment: { TROUPE_MAIL_DOMAIN: 'agents.example', TROUPE_MAIL_SENDER_CHECK: 'dmarc' },
  lookUp: lookUpIn(records),
}));

function publishKey(domain: string): void {
  records[`TXT k1._domainkey.${domain}`] = [[`v=DKIM1; k=rsa; p=${publicText}`]];
}

function publishPolicy(domain: string): void {
  records[`TXT _dmarc.${domain}`] = [['v=DMARC1; p=reject']];
}

/** Executions by their input, once there are so many. */
async function fates(node: TenantNode, trigger: { id: string }, count: number) {
  const executions = await eventually(
    async () => {
      const found = await executionsOf(node, { ...trigger, secret: '', path: '' });
      const ended = found.filter(({ status }) => status !== 'queued' && status !== 'running');
      return ended.length === count && ended;
    },
    { everyMs: 100, timeoutMs: 60_000 },
  );
  return new Map(
    executions.map(({ input_preview, status, error }) => [String(input_preview), [status, error?.code]]),
  );
}

test.serial('a mail that its domain does not authenticate runs nothing and is not answered', async (t) => {
  const node = await shared.tenant(t);
  const from = 'Ada Lovelace <Ada@Forged.example>';
  publishPolicy('forged.example');
  records['TXT forged.example'] = [['v=spf1 ip4:192.0.2.1 -all']];
  const trigger = await createTrigger(node, {}, 'email');
  const to = `${trigger.id}@agents.example`;
  const messageId = '<same@example.com>';
  t.is(await sendMail(node.mailPort, { to, from, text: 'forged', messageId }), 250);
  t.is(await sendMail(node.mailPort, { to, text: 'of nobody', from: 'x@unknown.example' }), 250);
  // The envelope is of a domain that vouches for this machine, and the sender that people see is another.
  records['TXT mallory.example'] = [['v=spf1 ip4:127.0.0.1 -all']];
  const envelope = { from: 'me@mallory.example', to: [to] };
  t.is(await sendMail(node.mailPort, { to, from, text: 'borrowed', envelope }), 250);
  const found = await fates(node, trigger, 3);
  for (const text of ['forged', 'of nobody', 'borrowed']) {
    t.deepEqual(found.get(text), ['blocked', 'unauthenticated_sender'], text);
  }
  // The real mail with the Message-ID that the forger chose is no repeat.
  records['TXT forged.example'] = [['v=spf1 ip4:127.0.0.1 -all']];
  t.is(await sendMail(node.mailPort, { to, from, text: 'real', messageId }), 250);
  t.deepEqual((await fates(node, trigger, 4)).get('real'), ['completed', undefined]);
  const answers = await eventually(async () => {
    const found = await answersOf(node, trigger);
    return found.length > 0 && found;
  });
  t.is(answers.length, 1);
});

test.serial('a mail that names a person without proof is of nobody, and goes with that person', async (t) => {
  const node = await shared.tenant(t);
  const { client, bootstrap } = node;
  publishPolicy('claimed.example');
  const word = `planted${randomBytes(8).toString('hex')}`;
  const trigger = await createTrigger(node, {}, 'email');
  const mail = { to: `${trigger.id}@agents.example`, from: `Ann <${word}@claimed.example>` };
  t.is(await sendMail(node.mailPort, { ...mail, text: `words of ${word}` }), 250);
  t.is(await sendMail(node.mailPort, { ...mail, from: 'eve@claimed.example', text: 'of another' }), 250);
  await fates(node, trigger, 2);
  const call = (method: string, path = '') =>
    client.call(method, `/api/v1/consumers/${word}@claimed.example${path}`, { key: bootstrap.api_key });
  t.is((await call('GET')).json.error, 'not_found', 'no consumer is known by it');
  const erased = await call('DELETE');
  t.like(erased.json.data, { sessions: 0, messages: 0, executions: 1 }, erased.text);
  t.deepEqual(await tablesWith(node.databaseUrl, word), []);
  t.deepEqual([...(await fates(node, trigger, 1)).keys()], ['of another']);
});

test.serial('forged mails use none of the model work of the tenant', async (t) => {
  const node = await shared.tenant(t);
  publishPolicy('often-forged.example');
  publishKey('often-forged.example');
  const trigger = await createTrigger(node, { reply: false }, 'email');
  // Ten requests a minute, a hundred a day.
  await setPlan(node, operatorToken, 'free');
  const to = `${trigger.id}@agents.example`;
  const from = 'ada@often-forged.example';
  const forged = Array.from({ length: 12 }, (_, nth) => `forged ${nth}`);
  for (const text of forged) t.is(await sendMail(node.mailPort, { to, from, text }), 250, text);
  const real = { to, from, text: 'real', dkim: dkimOf('often-forged.example') };
  t.is(await sendMail(node.mailPort, real), 250);
  const found = await fates(node, trigger, forged.length + 1);
  t.deepEqual(found.get('real'), ['completed', undefined]);
  for (const text of forged) t.deepEqual(found.get(text), ['blocked', 'unauthenticated_sender'], text);
  const { api_key: key } = node.bootstrap;
  const call = await node.client.call('POST', '/api/v3/llm/public/call', {
    key,
    body: { model: 'sim.echo', query: 'hello' },
  });
  t.is(call.status, 200, call.text);
});

test.serial('a mail that its domain signed or sent is answered', async (t) => {
  const node = await shared.tenant(t);
  const from = 'ada@signed.example';
  const dkim = dkimOf('signed.example');
  publishPolicy('signed.example');
  publishKey('signed.example');
  const trigger = await createTrigger(node, { reply: false }, 'email');
  const to = `${trigger.id}@agents.example`;
  t.is(await sendMail(node.mailPort, { to, from, text: 'signed', dkim }), 250);
  delete records['TXT _dmarc.signed.example'];
  t.is(await sendMail(node.mailPort, { to, from, text: 'without a policy', dkim }), 250);
  records['TXT signed.example'] = [['v=spf1 ip4:127.0.0.1 -all']];
  t.is(await sendMail(node.mailPort, { to, from, text: 'sent' }), 250);
  const found = await fates(node, trigger, 3);
  t.deepEqual(
    [...found.values()].map(([status]) => status),
    ['completed', 'completed', 'completed'],
  );
});

test.serial('a sender whose name servers do not answer gets a temporary refusal', async (t) => {
  const node = await shared.tenant(t);
  records['TXT _dmarc.silent.example'] = silentNameServer();
  const trigger = await createTrigger(node, { reply: false }, 'email');
  t.is(
    await sendMail(node.mailPort, {
      to: `${trigger.id}@agents.example`,
      from: 'ada@silent.example',
      text: 'hello',
    }),
    451,
  );
  t.deepEqual(await executionsOf(node, trigger), []);
});

test.serial(
  'a mail fetched from a mailbox is answered only if its domain signed it, whatever its headers say',
  async (t) => {
    const node = await shared.tenant(t);
    publishPolicy('fetched.example');
    publishKey('fetched.example');
    const server = await startImapServer();
    t.teardown(() => server.close());
    await addSecret(node, 'mailbox', server.password);
    const imap = { host: '127.0.0.1', port: server.port, user: server.user, secret_ref: 'mailbox' };
    const trigger = await createTrigger(node, { imap, reply: false }, 'email');
    await eventually(() => server.signIns > 0, { everyMs: 100, timeoutMs: 60_000 });
    const composer = createTransport({ streamTransport: true, buffer: true, newline: 'windows' });
    const composed = async (text: string, more: object): Promise<string> => {
      const { message } = await composer.sendMail({
        from: 'ada@fetched.example',
        to: server.user,
        text,
        ...more,
      });
      return (Buffer.isBuffer(message) ? message : await buffer(message)).toString();
    };
    server.deliver(await composed('signed', { dkim: dkimOf('fetched.example') }));
    const headers = { 'Authentication-Results': 'mx.hotel.example; dmarc=pass header.from=fetched.example' };
    server.deliver(await composed('said to be', { headers }));
    const found = await fates(node, trigger, 2);
    t.deepEqual(found.get('signed'), ['completed', undefined]);
    t.deepEqual(found.get('said to be'), ['blocked', 'unauthenticated_sender']);
  },
);
