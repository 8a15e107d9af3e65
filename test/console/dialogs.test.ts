// Dialogs: one that waits for an answer, or shows what is shown only once, is not closed by accident.
import test from 'ava';
import { expectNoConsoleErrors, fill, openConsole, press, shows } from '../support/clients/console.js';
import { holdRequest } from '../support/clients/held-request.js';
import { sharedNode } from '../support/servers/shared-node.js';

const shared = sharedNode(test);

test.serial('Escape closes no dialog that waits for a new key, or shows it', async (t) => {
  const visit = await openConsole(t, await shared.tenant(t), '/keys');
  const { page } = visit;
  await press(page, 'Create a key');
  await fill(page, 'Name', 'Of a channel');
  const { sent, release } = await holdRequest(
    page,
    (request) => request.method() === 'POST' && request.url().endsWith('/api/keys'),
  );
  await press(page, 'Create');
  await sent;
  await page.keyboard.press('Escape');
  release();
  await page.waitForSelector('[data-key]');
  await page.keyboard.press('Escape');
  await page.mouse.click(5, 5);
  await shows(page, 'It is shown only once');
  t.is(await page.$('[role=dialog] ::-p-aria([name="Close"][role="button"])'), null);
  await press(page, 'I have stored it');
  await page.waitForSelector('[role=dialog]', { hidden: true });
  expectNoConsoleErrors(t, visit);
});
