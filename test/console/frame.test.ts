import test from 'ava';
import {
  axe,
  expectNoConsoleErrors,
  fill,
  fitsPhone,
  openConsole,
  press,
  shows,
  signIn,
  visitConsole,
} from '../support/clients/console.js';
import { sharedNode } from '../support/servers/shared-node.js';

const shared = sharedNode(test);

test.serial('a person signs in, keeps the sign-in over a reload, and signs out', async (t) => {
  const node = await shared.tenant(t);
  const visit = await visitConsole(t, node);
  const { page } = visit;
  await shows(page, 'Sign in');
  t.deepEqual(await axe(page), []);
  await signIn(visit);
  await page.waitForSelector('h1');
  t.is(await page.evaluate('document.cookie'), '', 'no script reads the refresh token');
  t.is(await page.evaluate('sessionStorage.length'), 0);
  t.notRegex((await page.evaluate('JSON.stringify(localStorage)')) as string, /ey[\w-]+\.|refresh/);
  t.deepEqual(await axe(page), []);
  for (let round = 0; round < 3; round += 1) {
    await page.reload({ waitUntil: 'domcontentloaded' });
  }
  await page.waitForSelector('h1');
  // What is still being read would be refused after the sign-out, and the browser would report it.
  await page.waitForFunction('!document.querySelector("[role=status] > .animate-pulse")');
  expectNoConsoleErrors(t, visit);
  await press(page, 'Account of Owner');
  await press(page, 'Sign out', 'menuitem');
  await page.waitForSelector('input[name="password"]');
  await page.reload();
  await page.waitForSelector('input[name="password"]');
  expectNoConsoleErrors(t, visit);
});

test.serial('a wrong password is told at the form, and an address is opened after the sign-in', async (t) => {
  const node = await shared.tenant(t);
  const visit = await visitConsole(t, node, '/sign-in?next=%2F%3Fa%3D1');
  const { page } = visit;
  await fill(page, 'E-mail', node.bootstrap.owner.email);
  await fill(page, 'Password', 'not the password');
  await press(page, 'Sign in');
  await page.waitForSelector('[role=alert]');
  await signIn(visit);
  t.is(await page.evaluate('location.pathname'), '/');
});

test.serial('on a phone the screens are in a drawer, and nothing is wider than the page', async (t) => {
  const visit = await openConsole(t, await shared.tenant(t));
  const { page } = visit;
  // The frame is there before its first screen.
  await page.waitForSelector('h1');
  await fitsPhone(page);
  await press(page, 'Open the menu');
  await page.waitForSelector('nav[aria-label="Screens"]', { visible: true });
  t.deepEqual(await axe(page), []);
  await page.keyboard.press('Escape');
  await page.waitForSelector('nav[aria-label="Screens"]', { hidden: true });
  expectNoConsoleErrors(t, visit);
});
