import test from 'ava';
import { axe, expectNoConsoleErrors, openConsole } from '../support/clients/console.js';
import { eventually } from '../support/clocks/eventually.js';
import { sharedNode } from '../support/servers/shared-node.js';

const shared = sharedNode(test);

test.serial('the palette finds screens and actions with the keyboard alone', async (t) => {
  const visit = await openConsole(t, await shared.tenant(t));
  const { page } = visit;
  const chosen = '[role=option][aria-selected=true]';
  await page.keyboard.down('Control');
  await page.keyboard.press('k');
  await page.keyboard.up('Control');
  await page.waitForSelector('[role=combobox]');
  await eventually(() => page.evaluate("document.activeElement.getAttribute('role') === 'combobox'"));
  t.deepEqual(await axe(page), []);
  await page.keyboard.type('overv');
  await page.waitForFunction(`document.querySelector('${chosen}')?.textContent.includes('Overview')`);
  await page.keyboard.press('Enter');
  await page.waitForSelector('[role=combobox]', { hidden: true });
  await page.keyboard.down('Control');
  await page.keyboard.press('k');
  await page.keyboard.up('Control');
  await page.waitForSelector('[role=combobox]');
  await page.keyboard.type('theme');
  await page.waitForFunction(`document.querySelectorAll('[role=option]').length === 3`);
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('Enter');
  await page.waitForFunction("document.documentElement.dataset.theme === 'dark'");
  await page.reload();
  await page.waitForFunction("document.documentElement.dataset.theme === 'dark'");
  expectNoConsoleErrors(t, visit);
});
