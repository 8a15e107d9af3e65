// The audit: who changed what, filtered by address, one entry whole.
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
import { fillIn } from '../support/clients/pointer.js';
import { sharedNode } from '../support/servers/shared-node.js';

const shared = sharedNode(test);

test.serial('a change is found in the audit with its fields', async (t) => {
  const node = await shared.tenant(t);
  const change = { name: 'Renamed <b>tenant</b>' };
  t.is((await asOwner(node, 'PATCH', `/api/tenants/${node.bootstrap.tenant_id}`, change)).status, 200);
  const { json } = await asOwner(node, 'GET', '/api/v1/audit');
  const { action } = json.data.find(({ changes }: { changes: object }) => 'name' in changes);
  const visit = await openConsole(t, node, `/audit?action=${action}`);
  const { page } = visit;
  await press(page, action);
  // The tenant has this name in the frame too.
  await page.waitForFunction(
    `document.querySelector('[role=dialog]')?.innerText.includes('Renamed <b>tenant</b>')`,
  );
  t.regex(page.url(), /entry=/, 'what is shown is in the address');
  t.deepEqual(await axe(page), []);
  await press(page, 'Close');
  await page.waitForSelector('[role=dialog]', { hidden: true });
  t.deepEqual(await axe(page), []);
  // A change of somebody else appears by itself.
  await page.goto(`${node.client.baseUrl}/audit`);
  await shows(page, 'Live');
  t.is(
    (await asOwner(node, 'POST', '/api/secrets', { name: 'live_one', value: 'x', kind: 'generic' })).status,
    201,
  );
  await shows(page, 'secrets.create');
  await fillIn(page, '::-p-aria([name="Action"][role="searchbox"])', 'nothing.done');
  // The filter is in the address.
  await page.waitForFunction(`location.search.includes('action=nothing.done')`);
  await shows(page, 'No entry matches');
  await fitsPhone(page);
  expectNoConsoleErrors(t, visit);
});
