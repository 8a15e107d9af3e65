import test from 'ava';
import type { Page } from 'puppeteer-core';
import { asOwner, createTrigger } from '../support/builders/triggers.js';
import { axe, expectNoConsoleErrors, fitsPhone, openConsole, shows } from '../support/clients/console.js';
import { ask } from '../support/clients/direct-calls.js';
import { click } from '../support/clients/pointer.js';
import { ownerView } from '../support/database/owner-view.js';
import { eventually } from '../support/clocks/eventually.js';
import { sharedNode } from '../support/servers/shared-node.js';

const shared = sharedNode(test);

/** Where the things that need attention lead to. */
const linksOf = (page: Page): Promise<readonly string[]> =>
  page.$$eval('[aria-label="Needs attention"] a', (links) =>
    links.map(({ pathname, search }) => pathname + search),
  );

test.serial('the overview shows calls and turns as they happen, and what waits', async (t) => {
  const node = await shared.tenant(t);
  const { client, bootstrap } = node;
  await ask(node, { model: 'sim.echo' });
  const visit = await openConsole(t, node);
  const { page } = visit;
  await shows(page, 'Nothing waits for a person');
  const figure = (title: string): Promise<string> =>
    page.evaluate(
      `[...document.querySelectorAll('dl > div')].find((one) => one.querySelector('dt').textContent === '${title}')?.querySelector('dd')?.firstChild.textContent ?? ''`,
    ) as Promise<string>;
  const is = (title: string, wanted: string): Promise<unknown> =>
    eventually(async () => (await figure(title)) === wanted, { timeoutMs: 60_000, everyMs: 50 });
  await is('Requests', '1');
  await is('Turns', '0');
  // Calls are counted in whole hours, turns in the last sixty minutes: each says of which time it is.
  await page.waitForFunction(`(() => {
    const timeOf = (title) => [...document.querySelectorAll('dl > div')]
      .find((one) => one.querySelector('dt').textContent === title).querySelector('dd span').textContent.trim();
    const hourBefore = Math.floor(Date.now() / 3_600_000) * 3_600_000 - 3_600_000;
    const since = 'since ' + new Intl.DateTimeFormat(undefined, { timeStyle: 'short' }).format(hourBefore);
    return timeOf('Turns') === 'in the last hour' && timeOf('Requests') === since && timeOf('Cost') === since;
  })()`);
  await shows(page, 'Live');
  const { status } = await client.call('POST', `/api/v2/agents/${bootstrap.agent_id}/stream`, {
    key: bootstrap.api_key,
    body: { message: 'hello' },
  });
  t.is(status, 200);
  // Without a reload.
  await is('Turns', '1');
  await is('Requests', '2');
  const sessions = await client.call('GET', '/api/v1/sessions', { key: bootstrap.api_key });
  const session = sessions.json.data[0].session_id;
  await client.call('POST', `/api/v1/sessions/${session}/handoff`, { key: bootstrap.api_key, body: {} });
  await shows(page, '1 conversation is with people');
  await page.waitForSelector('canvas');

  // What else needs a person: a trigger whose turns fail, an answer that nobody took, budgets that are nearly spent.
  const trigger = await createTrigger(node, { auth: { type: 'none' } });
  const key = await asOwner(node, 'POST', '/api/keys', {
    name: 'Nightly',
    budget: { usd: 1, period: 'month' },
  });
  t.is(key.status, 201, key.text);
  const tenantPath = `/api/tenants/${bootstrap.tenant_id}`;
  const budget = { budget: { usd: 1, period: 'day' } };
  t.is((await asOwner(node, 'PATCH', tenantPath, budget)).status, 200);
  const owner = await ownerView(node.databaseUrl);
  await owner.query(`update executions set status = 'failed', trigger_id = $2 where tenant_id = $1`, [
    bootstrap.tenant_id,
    trigger.id,
  ]);
  await owner.query(
    `insert into deliveries (tenant_id, id, session_id, trigger_id, key, status, chunk_total, sealed, last_error,
       finished_at)
     values ($1, gen_random_uuid(), $2, $3, 'one', 'delivery_failed', 1, 'none', 'Connection refused', now())`,
    [bootstrap.tenant_id, session, trigger.id],
  );
  await owner.query('update usage_rows set cost = 0.45, key_id = $2 where tenant_id = $1', [
    bootstrap.tenant_id,
    key.json.data.id,
  ]);
  await owner.query(
    'update call_hours set ledger_cost = 0.45 * ledger_calls, key_id = $2 where tenant_id = $1 and ledger_calls > 0',
    [bootstrap.tenant_id, key.json.data.id],
  );
  await owner.end();
  await page.reload();
  await shows(page, '1 conversation is with people');
  await shows(page, 'failed 1 time in the last day');
  await shows(page, '1 answer of the trigger trigger ');
  await shows(page, 'The budget of the tenant is spent to 90 %');
  await shows(page, 'The budget of the key Nightly is spent to 90 %');
  t.deepEqual(await linksOf(page), [
    '/inbox?state=waiting',
    `/triggers/${trigger.id}?tab=deliveries&status=delivery_failed`,
    `/triggers/${trigger.id}?tab=executions&status=failed`,
    '/usage',
    '/usage',
  ]);
  t.deepEqual(await axe(page), []);
  await fitsPhone(page);
  // Each leads to what it speaks of.
  await click(page, '[aria-label="Needs attention"] a[href*="delivery_failed"]');
  await shows(page, 'Send again');
  expectNoConsoleErrors(t, visit);
});
