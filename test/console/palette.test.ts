import test from 'ava';
import type { Page } from 'puppeteer-core';
import { axe, expectNoConsoleErrors, openConsole, shows } from '../support/clients/console.js';
import { click } from '../support/clients/pointer.js';
import { eventually } from '../support/clocks/eventually.js';
import { sharedNode } from '../support/servers/shared-node.js';

const shared = sharedNode(test);

/** Opens the palette. Its field gets the focus a picture after it is there; what is typed before is lost. */
async function openPalette(page: Page): Promise<void> {
  await page.keyboard.down('Control');
  await page.keyboard.press('k');
  await page.keyboard.up('Control');
  await page.waitForSelector('[role=combobox]');
  await eventually(() => page.evaluate("document.activeElement.getAttribute('role') === 'combobox'"));
}

test.serial('the palette finds screens and actions with the keyboard alone', async (t) => {
  const visit = await openConsole(t, await shared.tenant(t));
  const { page } = visit;
  const chosen = '[role=option][aria-selected=true]';
  await openPalette(page);
  t.deepEqual(await axe(page), []);
  await page.keyboard.type('overv');
  await page.waitForFunction(`document.querySelector('${chosen}')?.textContent.includes('Overview')`);
  await page.keyboard.press('Enter');
  await page.waitForSelector('[role=combobox]', { hidden: true });
  await openPalette(page);
  await page.keyboard.type('theme');
  await page.waitForFunction(`document.querySelectorAll('[role=option]').length === 3`);
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('Enter');
  await page.waitForFunction("document.documentElement.dataset.theme === 'dark'");
  await page.reload();
  await page.waitForFunction("document.documentElement.dataset.theme === 'dark'");
  expectNoConsoleErrors(t, visit);
});

test.serial(
  'the palette finds things by their names, people and conversations, and any whole id',
  async (t) => {
    const node = await shared.tenant(t);
    const { api_key: key, agent_id } = node.bootstrap;
    const body = {
      message: 'Zenobia greets',
      consumer_key: 'crm:77',
      consumer_display_name: 'Zenobia Quist',
    };
    const turn = await node.client.call('POST', `/api/v2/agents/${agent_id}/stream`, { key, body });
    const { session_id, execution_id } = JSON.parse(/^data: (.*)$/m.exec(turn.text)?.[1] ?? '{}');
    const visit = await openConsole(t, node);
    const { page } = visit;
    const find = async (words: string, wanted: string): Promise<void> => {
      await openPalette(page);
      await page.keyboard.type(words);
      // What was found for the words of before stays until the next list is drawn.
      await page.waitForFunction(
        `[...document.querySelectorAll('[role=option]')].some(({ textContent: text }) =>
          text.includes(${JSON.stringify(wanted)}) && text.toLowerCase().includes(${JSON.stringify(words)}))`,
      );
      await click(page, `[role=option] ::-p-text(${wanted})`);
      await page.waitForSelector('[role=combobox]', { hidden: true });
    };
    const isAt = (address: string): Promise<unknown> =>
      page.waitForFunction(`location.pathname + location.search === ${JSON.stringify(address)}`);
    await find('zenobia', 'Conversation');
    await isAt(`/inbox?session=${session_id}`);
    await shows(page, 'Zenobia Quist');
    await find('zenobia', 'Person');
    await isAt('/consumers/crm%3A77');
    await find('key of the', 'Key of the test');
    await page.waitForFunction("location.pathname === '/keys' && location.search.startsWith('?key=')");
    // The key's window takes the focus when its key is there.
    await page.waitForSelector('[role=dialog] ::-p-text(svc_live)');
    await find(execution_id, 'Turn');
    await isAt(`/turns/${execution_id}`);
    await find('new agent', 'New agent');
    await isAt('/agents?create=true');
    await shows(page, 'Create agent');
    t.deepEqual(await axe(page), []);
    // Kinds that do not have the id answer that they do not, which the browser reports.
    t.deepEqual(
      visit.problems.filter((problem) => !/status of 404/.test(problem)),
      [],
    );
  },
);

test.serial('the palette opens another tenant at its overview', async (t) => {
  const node = await shared.tenant(t);
  const { access_token: token, agent_id } = node.bootstrap;
  await node.client.call('POST', '/api/tenants', { token, body: { name: 'Other shop' } });
  const visit = await openConsole(t, node, `/agents/${agent_id}`);
  const { page } = visit;
  await openPalette(page);
  await page.keyboard.type('other shop');
  await page.waitForSelector('[role=option][aria-selected=true] ::-p-text(Switch to Other shop)');
  await page.keyboard.press('Enter');
  await page.waitForSelector('[aria-label="Tenant: Other shop"]');
  await page.waitForFunction(`location.pathname === '/'`);
  expectNoConsoleErrors(t, visit);
});
