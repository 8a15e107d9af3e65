// Usage and cost: totals, groups, budget, export.
import test from 'ava';
import { asOwner } from '../support/builders/triggers.js';
import { axe, expectNoConsoleErrors, fitsPhone, openConsole, shows } from '../support/clients/console.js';
import { ask } from '../support/clients/direct-calls.js';
import { click } from '../support/clients/pointer.js';
import { eventually } from '../support/clocks/eventually.js';
import { sharedNode } from '../support/servers/shared-node.js';

const shared = sharedNode(test);

test.serial('usage is shown by day and in groups, with the budget', async (t) => {
  const node = await shared.tenant(t);
  await ask(node, { model: 'sim.echo' });
  await ask(node, { model: 'sim.tools' });
  const key = await asOwner(node, 'POST', '/api/keys', {
    name: 'Nightly',
    budget: { usd: 2, period: 'day' },
  });
  t.is(key.status, 201, key.text);
  const budget = { budget: { usd: 5, period: 'month' } };
  t.is((await asOwner(node, 'PATCH', `/api/tenants/${node.bootstrap.tenant_id}`, budget)).status, 200);
  const agent = { name: 'frugal', metadata: { budget: { usd: 3, period: 'month' } } };
  t.is((await asOwner(node, 'POST', '/api/agents', agent)).status, 201);
  const visit = await openConsole(t, node, '/usage');
  const { page } = visit;
  await shows(page, 'of $5.00 this month');
  await shows(page, 'of $2.00 this day');
  // Also of what has not cost anything yet.
  await shows(page, 'of $3.00 this month');
  await page.waitForSelector('canvas');
  await page.select('select[aria-label="Group by"]', 'model');
  await shows(page, 'sim.echo');
  // The picture has the groups as its parts.
  const parts = (): Promise<readonly string[]> =>
    page.$$eval('[aria-label="Tokens by day and model"] .u-series .u-label', (labels) =>
      labels.map(({ textContent }) => textContent ?? ''),
    );
  await eventually(async () => (await parts()).includes('sim.tools'));
  t.deepEqual((await parts()).toSorted(), ['Time', 'sim.echo', 'sim.tools']);
  t.regex(page.url(), /by=model/, 'the grouping is in the address');
  t.deepEqual(await axe(page), []);
  const exported = page.waitForResponse((response) => response.url().includes('/exports/usage'));
  await click(page, '::-p-aria([name="CSV"][role="button"])');
  const answer = await exported;
  t.is(answer.status(), 200);
  t.regex(answer.headers()['content-type'] ?? '', /csv/);
  await fitsPhone(page);
  expectNoConsoleErrors(t, visit);
});
