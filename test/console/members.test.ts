// Members: invited, and the invitation cancelled.
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
