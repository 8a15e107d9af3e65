// Members: invited, the invitation cancelled, another role, removed.
import test from 'ava';
import { asOwner } from '../support/builders/triggers.js';
import {
  axe,
  expectNoConsoleErrors,
  fill,
  fitsPhone,
  openConsole,
  press,
  shows,
} from '../support/clients/console.js';
import type { Json } from '../support/clients/client.js';
import { asMember } from '../support/clients/console-people.js';
import { sharedNode } from '../support/servers/shared-node.js';

const shared = sharedNode(test);

test.serial('a person is invited, and the invitation is cancelled', async (t) => {
  const node = await shared.tenant(t);
  const invites = `/api/tenants/${node.bootstrap.tenant_id}/invites`;
  const visit = await openConsole(t, node, '/members');
  const { page } = visit;
  await shows(page, node.bootstrap.owner.email);
  await shows(page, 'No invitation waits');
  t.is(await page.$(`[aria-label="Remove ${node.bootstrap.owner.email}"]`), null, 'nobody removes oneself');
  t.deepEqual(await axe(page), []);
  await press(page, 'Invite a person');
  await fill(page, 'E-mail', 'grace@test.example');
  await page.select('[role=dialog] select', 'editor');
  t.deepEqual(await axe(page), []);
  await press(page, 'Send the invitation');
  await page.waitForSelector('[role=dialog]', { hidden: true });
  await shows(page, 'grace@test.example');
  t.like((await asOwner(node, 'GET', invites)).json.data[0], { email: 'grace@test.example', role: 'editor' });
  await fitsPhone(page);
  await press(page, 'Cancel the invitation of grace@test.example');
  await press(page, 'Cancel the invitation');
  await shows(page, 'No invitation waits');
  t.deepEqual((await asOwner(node, 'GET', invites)).json.data, []);
  expectNoConsoleErrors(t, visit);
});

test.serial('a role is changed, and a member is removed with the keys that they made', async (t) => {
  const node = await shared.tenant(t);
  const members = `/api/tenants/${node.bootstrap.tenant_id}/members`;
  const read = async () => (await asOwner(node, 'GET', members)).json.data as readonly Json[];
  const person = await asMember(node, 'editor');
  const { email, password } = person.bootstrap.owner;
  const signedIn = await node.client.call('POST', '/api/auth/login', { body: { email, password } });
  const own = { token: signedIn.json.data.access_token, tenant: node.bootstrap.tenant_id };
  const made = await node.client.call('POST', '/api/keys', {
    ...own,
    body: { name: 'Of the editor', role: 'member' },
  });
  t.is(made.status, 201, made.text);
  const useKey = () => node.client.call('GET', '/api/v1/sessions', { key: made.json.data.api_key });
  t.is((await useKey()).status, 200);

  const visit = await openConsole(t, node, '/members');
  const { page } = visit;
  const choice = `select[aria-label="Role of ${email}"]`;
  await page.waitForSelector(choice);
  await page.select(choice, 'member');
  await shows(page, 'The role was changed');
  t.is((await read()).find((one) => one['email'] === email)?.['role'], 'member');
  t.is((await node.client.call('POST', '/api/keys', { ...own, body: { name: 'No more' } })).status, 403);
  await fitsPhone(page);
  await page.setViewport({ width: 1280, height: 900 });
  await press(page, `Remove ${email}`);
  await shows(page, 'loses access to this tenant');
  t.deepEqual(await axe(page), []);
  await press(page, 'Revoke the API keys that they made too', 'checkbox');
  await press(page, 'Remove');
  await shows(page, 'The member was removed');
  await page.waitForSelector(choice, { hidden: true });
  t.false((await read()).some((one) => one['email'] === email));
  t.is((await useKey()).status, 401);
  expectNoConsoleErrors(t, visit);

  // What the API refuses is said: the person left meanwhile.
  const other = await asMember(node, 'editor');
  await page.reload();
  const otherChoice = `select[aria-label="Role of ${other.bootstrap.owner.email}"]`;
  await page.waitForSelector(otherChoice);
  const left = (await read()).find((one) => one['email'] === other.bootstrap.owner.email);
  t.is((await asOwner(node, 'DELETE', `${members}/${left?.['user_id']}`)).status, 200);
  await page.select(otherChoice, 'member');
  await shows(page, 'The role was not changed');
  await page.waitForSelector(otherChoice, { hidden: true });
});
