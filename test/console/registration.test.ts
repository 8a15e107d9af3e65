import { randomUUID } from 'node:crypto';
import test from 'ava';
import {
  axe,
  expectNoConsoleErrors,
  fill,
  fitsPhone,
  press,
  shows,
  visitConsole,
} from '../support/clients/console.js';
import { sharedNode } from '../support/servers/shared-node.js';

const shared = sharedNode(test);

test.serial('a person registers and is signed in, and a known address is refused at the form', async (t) => {
  const node = await shared.tenant(t);
  const visit = await visitConsole(t, node, '/register');
  const { page } = visit;
  const email = `new-${randomUUID()}@test.example`;
  await page.waitForSelector('input[name=tenant_name]');
  t.deepEqual(await axe(page), []);
  await fill(page, 'E-mail', email);
  await fill(page, 'Password', 'correct horse battery');
  await fill(page, 'Your name', 'Nova <b>Person</b>');
  await fill(page, 'Name of your tenant', 'Nova & Daughters');
  await press(page, 'Register');
  await page.waitForSelector('nav[aria-label="Screens"]');
  await shows(page, 'Nova & Daughters');
  await shows(page, 'Nova <b>Person</b>');
  // A reload keeps it: the refresh token moved into the cookie.
  await page.reload();
  await page.waitForSelector('nav[aria-label="Screens"]');
  expectNoConsoleErrors(t, visit);
  await press(page, 'Account of Nova <b>Person</b>');
  await press(page, 'Sign out', 'menuitem');
  await page.waitForSelector('input[name=password]');
  await press(page, 'Register', 'link');
  await page.waitForSelector('input[name=tenant_name]');
  await fill(page, 'E-mail', email);
  await fill(page, 'Password', 'correct horse battery');
  await press(page, 'Register');
  await shows(page, 'has an account already');
});

test.serial('a person asks for a mail to choose a new password', async (t) => {
  const node = await shared.tenant(t);
  const visit = await visitConsole(t, node, '/sign-in');
  const { page } = visit;
  await press(page, 'Forgot the password?', 'link');
  // The address changes first, and the form before has a field of the same name.
  await shows(page, 'Send the mail');
  await fill(page, 'E-mail', node.bootstrap.owner.email);
  t.deepEqual(await axe(page), []);
  await fitsPhone(page);
  await press(page, 'Send the mail');
  await shows(page, 'a mail with a link is on its way');
  expectNoConsoleErrors(t, visit);
});
