// API keys: made once, shown once, revoked.
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
import { click, fillIn } from '../support/clients/pointer.js';
import { sharedNode } from '../support/servers/shared-node.js';

const shared = sharedNode(test);

test.serial('a key is made, shown once, used and revoked', async (t) => {
  const node = await shared.tenant(t);
  const visit = await openConsole(t, node, '/keys');
  const { page } = visit;
  await shows(page, 'Key of the test');
  t.deepEqual(await axe(page), []);
  await press(page, 'Create a key');
  await press(page, 'Create');
  await shows(page, 'Fill this in.');
  const said = `document.getElementById(document.activeElement.getAttribute('aria-describedby')).textContent`;
  t.is(await page.evaluate('document.activeElement.name'), 'name', 'the field that is wrong has the focus');
  t.is(await page.evaluate(said), 'Fill this in.', 'what is wrong is said at the field');
  await fill(page, 'Name', 'Nightly job');
  await click(page, '[role=dialog] input[type=checkbox]');
  await fillIn(page, 'input[name=rate]', '7');
  t.deepEqual(await axe(page), []);
  await press(page, 'Create');
  await shows(page, 'It is shown only once');
  const key = (await page.$eval('[data-key]', ({ textContent }) => textContent)) ?? '';
  t.regex(key, /^svc_live_/);
  t.deepEqual(await axe(page), []);
  const call = () => node.client.call('GET', '/api/v1/sessions', { key });
  t.is((await call()).status, 200);
  await press(page, 'I have stored it');
  await page.waitForSelector('[role=dialog]', { hidden: true });
  await shows(page, 'Nightly job');
  t.false(((await page.evaluate('document.documentElement.outerHTML')) as string).includes(key));
  const listed = await asOwner(node, 'GET', '/api/keys');
  t.like(listed.json.data[0], { name: 'Nightly job', role: 'member', rate_limit_per_minute: 7 });

  await press(page, 'Nightly job');
  await shows(page, 'all of the plan');
  t.true(page.url().includes(`key=${listed.json.data[0].id}`), 'what is shown is in the address');
  t.deepEqual(await axe(page), []);
  await press(page, 'Close');
  await page.waitForSelector('[role=dialog]', { hidden: true });
  await press(page, 'Revoke Nightly job');
  await press(page, 'Revoke');
  await shows(page, 'The key was revoked');
  t.is((await call()).status, 401);
  await fitsPhone(page);
  expectNoConsoleErrors(t, visit);

  // The browser itself reports a refused request, so this comes last.
  await press(page, 'Create a key');
  await fill(page, 'Name', 'Refused');
  await click(page, '[role=dialog] input[type=checkbox]');
  await fillIn(page, 'input[name=addresses]', 'nowhere');
  await press(page, 'Create');
  await page.waitForFunction("document.activeElement.name === 'addresses'");
  t.is(await page.$eval('input[name=addresses]', (input) => input.getAttribute('aria-invalid')), 'true');
  t.deepEqual(await axe(page), []);
});
