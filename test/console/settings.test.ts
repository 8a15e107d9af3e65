// Settings of a tenant: budget, and for how long data is kept.
import test from 'ava';
import { asOwner } from '../support/builders/triggers.js';
import {
  axe,
  expectNoConsoleErrors,
  fitsPhone,
  openConsole,
  press,
  shows,
} from '../support/clients/console.js';
import { eventually } from '../support/clocks/eventually.js';
import { sharedNode } from '../support/servers/shared-node.js';

const shared = sharedNode(test);

test.serial('budget and retention of a tenant are changed', async (t) => {
  const node = await shared.tenant(t);
  const visit = await openConsole(t, node, '/settings');
  const { page } = visit;
  await shows(page, 'Name and budget');
  t.deepEqual(await axe(page), []);
  const read = async () => (await asOwner(node, 'GET', `/api/tenants/${node.bootstrap.tenant_id}`)).json.data;
  await page.locator('input[name=usd]').fill('12.5');
  await press(page, 'Save name and budget');
  await eventually(async () => (await read()).budget?.usd === 12.5, { timeoutMs: 20_000, everyMs: 250 });
  await page.locator('input[name=messages_days]').fill('9');
  await press(page, 'Save the days');
  await eventually(async () => (await read()).retention.messages_days === 9, {
    timeoutMs: 20_000,
    everyMs: 250,
  });
  t.deepEqual((await read()).budget, { usd: 12.5, period: 'month' });
  await shows(page, 'The settings were saved');
  await fitsPhone(page);
  expectNoConsoleErrors(t, visit);
});
