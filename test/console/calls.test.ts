// The log of calls: live, filtered by address, one call whole; models, and the same question to two of them.
import test from 'ava';
import {
  axe,
  expectNoConsoleErrors,
  fill,
  fitsPhone,
  openConsole,
  press,
  shows,
} from '../support/clients/console.js';
import { ask } from '../support/clients/direct-calls.js';
import { sharedNode } from '../support/servers/shared-node.js';

const shared = sharedNode(test);

test.serial('calls are listed, filtered and shown one at a time', async (t) => {
  const node = await shared.tenant(t);
  await ask(node, { model: 'sim.echo' });
  const visit = await openConsole(t, node, '/calls');
  const { page } = visit;
  await shows(page, 'sim.echo');
  t.deepEqual(await axe(page), []);
  await press(page, 'sim.echo', 'link');
  await shows(page, 'What the model said');
  await shows(page, 'echo: Hello there');
  await shows(page, '1. sim · sim.echo');
  t.regex(page.url(), /\/calls\/[0-9a-f-]{36}$/, 'what is shown is in the address');
  await page.reload();
  await shows(page, 'no conversation: a direct call');
  t.deepEqual(await axe(page), []);
  await fitsPhone(page);
  await page.setViewport({ width: 1280, height: 900 });
  await press(page, 'Calls', 'link');
  await page.waitForSelector('select[aria-label="Outcome"]');
  await page.select('select[aria-label="Outcome"]', 'error');
  await shows(page, 'No call matches');
  t.regex(page.url(), /status=error/, 'the filter is in the address');
  await fitsPhone(page);
  await page.setViewport({ width: 1280, height: 900 });

  // Models: prices and availability, then the same question to two of them.
  await press(page, 'Models', 'link');
  await shows(page, 'no key');
  t.deepEqual(await axe(page), []);
  await press(page, 'Compare sim.echo', 'checkbox');
  await press(page, 'Compare sim.tools', 'checkbox');
  await press(page, 'Compare 2 models', 'link');
  await shows(page, 'Another model');
  await press(page, 'Ask');
  await shows(page, 'Fill this in.');
  await fill(page, 'Message', 'Say **this** twice');
  await press(page, 'Ask');
  for (const [number, model] of ['sim.echo', 'sim.tools'].entries()) {
    const card = `[aria-label="Answer ${number + 1} of ${model}"]`;
    await page.waitForFunction(
      `/completed[\\s\\S]*\\d m?s[\\s\\S]*\\d in, \\d+ out/.test(document.querySelector('${card}')?.innerText ?? '')`,
    );
  }
  t.is(await page.$eval('[aria-label="Text 1 of sim.echo"] strong', (one) => one.textContent), 'this');
  t.deepEqual(await axe(page), []);
  await fitsPhone(page);
  t.regex(decodeURIComponent(page.url()), /models=\["sim\.echo","sim\.tools"\]/, 'the comparison is a link');
  expectNoConsoleErrors(t, visit);
});

test.serial('further calls are shown once, however many calls begin meanwhile', async (t) => {
  const node = await shared.tenant(t);
  const askFor = async (number: number): Promise<void> => {
    const { status, text } = await ask(node, { model: 'sim.echo', query: `call ${number}` });
    t.is(status, 200, text);
  };
  for (let number = 1; number <= 60; number += 1) await askFor(number);
  const visit = await openConsole(t, node, '/calls');
  const { page } = visit;
  const inputs = async (): Promise<readonly string[]> =>
    page.$$eval('tbody td:nth-child(3)', (cells) => cells.map(({ textContent }) => String(textContent)));
  await page.waitForFunction("document.querySelectorAll('tbody tr').length === 50");
  // Nothing is read again by itself from here on: what is shown is older than the calls that follow.
  await page.evaluate("Object.defineProperty(document, 'visibilityState', { get: () => 'hidden' })");
  for (let number = 61; number <= 65; number += 1) await askFor(number);
  await press(page, 'Load more');
  await page.waitForFunction("document.querySelectorAll('tbody tr').length > 50");
  const all = await inputs();
  t.is(new Set(all).size, all.length);
  expectNoConsoleErrors(t, visit);
});
