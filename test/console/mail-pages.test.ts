// The pages that links of mails open: an address is verified, a password chosen, a tenant joined.
import { randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { linkTo, mailsOf } from '../support/builders/account-mails.js';
import { register, type TestUser } from '../support/builders/tenants.js';
import { asOwner } from '../support/builders/triggers.js';
import type { CallResult, Json } from '../support/clients/client.js';
import {
  axe,
  type ConsoleVisit,
  expectNoConsoleErrors,
  fill,
  fitsPhone,
  press,
  shows,
  visitConsole,
} from '../support/clients/console.js';
import type { TenantNode } from '../support/servers/node.js';
import { sharedNode } from '../support/servers/shared-node.js';

const shared = sharedNode(test, () => ({ environment: { TROUPE_VERIFY_EMAIL: 'on' } }));
const newPasswordLabel = 'New password, at least 10 characters';
const newPassword = 'another horse battery';
const used = 'was used, has expired or is unknown';

const isVerified = async (node: TenantNode, { token }: TestUser): Promise<boolean> =>
  (await node.client.call('GET', '/api/auth/me', { token })).json.data.user.email_verified;

const signIn = (node: TenantNode, email: string, password: string): Promise<CallResult> =>
  node.client.call('POST', '/api/auth/login', { body: { email, password } });

/** The page says what it is about, holds for readers of all kinds, and has sent nothing yet. */
async function expectForm(t: ExecutionContext, visit: ConsoleVisit, words: readonly string[]): Promise<void> {
  for (const shown of words) await shows(visit.page, shown);
  t.deepEqual(await axe(visit.page), []);
  await fitsPhone(visit.page);
  await visit.page.setViewport({ width: 1_200, height: 800 });
  expectNoConsoleErrors(t, visit);
}

/** The form is gone, and neither the address bar nor the history holds the token. */
async function expectDone(t: ExecutionContext, { page }: ConsoleVisit): Promise<void> {
  await page.waitForSelector('form', { hidden: true });
  t.is(await page.evaluate('location.search'), '');
}

/** The link opened once more says why it is of no use, and has no form. */
async function expectUsed(
  t: ExecutionContext,
  { page, node }: ConsoleVisit,
  path: string,
  words = used,
): Promise<void> {
  await page.goto(`${node.client.baseUrl}${path}`);
  await shows(page, words);
  t.is(await page.$('form'), null);
}

test.serial('a person verifies an address on the page of the mail, once', async (t) => {
  const node = await shared.tenant(t);
  const { user } = await register(node);
  const path = `/verify?token=${await linkTo(mailsOf(node), 'verify', user.email)}`;
  const visit = await visitConsole(t, node, path);
  await expectForm(t, visit, ['Confirm your address', user.email]);
  t.false(await isVerified(node, user), 'opening the page changes nothing');
  await press(visit.page, 'Confirm');
  await shows(visit.page, 'The address is verified.');
  await expectDone(t, visit);
  t.true(await isVerified(node, user));
  expectNoConsoleErrors(t, visit);
  await expectUsed(t, visit, path);
});

test.serial('a person chooses a new password on the page of the mail', async (t) => {
  const node = await shared.tenant(t);
  const { user } = await register(node);
  await node.client.call('POST', '/api/auth/password/forgot', { body: { email: user.email } });
  const path = `/reset?token=${await linkTo(mailsOf(node), 'reset', user.email)}`;
  const visit = await visitConsole(t, node, path);
  const { page } = visit;
  await expectForm(t, visit, ['Choose a new password', user.email]);
  await fill(page, newPasswordLabel, 'short');
  await press(page, 'Set the password');
  t.is(await page.evaluate("document.querySelector('input').matches(':invalid')"), true);
  t.is((await signIn(node, user.email, user.password)).status, 200, 'the form sent nothing');
  await fill(page, newPasswordLabel, newPassword);
  await press(page, 'Set the password');
  await shows(page, 'The password is set. Sign in with it.');
  await expectDone(t, visit);
  expectNoConsoleErrors(t, visit);
  t.is((await signIn(node, user.email, user.password)).status, 401);
  t.is((await signIn(node, user.email, newPassword)).status, 200);
  await press(page, 'Open the console', 'link');
  await page.waitForSelector('input[name=password]');
  await expectUsed(t, visit, path);
});

test.serial('a link that is used up while its page is open says so at the form', async (t) => {
  const node = await shared.tenant(t);
  const { user } = await register(node);
  const token = await linkTo(mailsOf(node), 'verify', user.email);
  const { page } = await visitConsole(t, node, `/verify?token=${token}`);
  await shows(page, user.email);
  t.is((await node.client.call('POST', '/api/auth/verify', { body: { token } })).status, 200);
  await press(page, 'Confirm');
  await shows(page, used);
  await page.waitForSelector('button:not([disabled])');
});

/** The owner verifies an address first: on this node nobody invites without that. */
async function invite(node: TenantNode, email: string): Promise<string> {
  const token = await linkTo(mailsOf(node), 'verify', node.bootstrap.owner.email);
  const proved = await node.client.call('POST', '/api/auth/verify', { body: { token } });
  if (proved.status !== 200) throw new Error(proved.text);
  const path = `/api/tenants/${node.bootstrap.tenant_id}/invites`;
  const made = await asOwner(node, 'POST', path, { email, role: 'editor' });
  if (made.status !== 201) throw new Error(made.text);
  return `/join?token=${await linkTo(mailsOf(node), 'join', email)}`;
}

async function roleOf(node: TenantNode, address: string): Promise<string | undefined> {
  const { json } = await asOwner(node, 'GET', `/api/tenants/${node.bootstrap.tenant_id}/members`);
  return json.data.find(({ email }: Json) => email === address)?.role;
}

test.serial('an invited person makes an account on the page, and is in the console', async (t) => {
  const node = await shared.tenant(t);
  const email = `${randomUUID()}@test.example`;
  const path = await invite(node, email);
  const visit = await visitConsole(t, node, path);
  const { page } = visit;
  await expectForm(t, visit, [t.title.slice(0, 60), 'Owner', email, 'editor']);
  t.is(await roleOf(node, email), undefined, 'opening the page changes nothing');
  await fill(page, 'Name', 'Grace <b>Hopper</b>');
  await fill(page, newPasswordLabel, newPassword);
  await press(page, 'Join');
  await shows(page, `sign in as ${email}`);
  await expectDone(t, visit);
  t.is(await roleOf(node, email), 'editor');
  await press(page, 'Open the console', 'link');
  await page.waitForSelector('nav[aria-label="Screens"]');
  await shows(page, 'Grace <b>Hopper</b>');
  expectNoConsoleErrors(t, visit);
  await expectUsed(t, visit, path, 'invalid or has expired');
});

test.serial(
  'a person with an account joins by its password, and a wrong one is refused at the form',
  async (t) => {
    const node = await shared.tenant(t);
    const { user } = await register(node);
    const visit = await visitConsole(t, node, await invite(node, user.email));
    const { page } = visit;
    await expectForm(t, visit, [user.email, 'Password of your account']);
    await fill(page, 'Password of your account', 'a wrong password');
    await press(page, 'Join');
    await shows(page, 'The address or the password is wrong.');
    t.is(await roleOf(node, user.email), undefined);
    await fill(page, 'Password of your account', user.password);
    await press(page, 'Join');
    await shows(page, `sign in as ${user.email}`);
    t.is(await roleOf(node, user.email), 'editor');
  },
);
