// The list of errors while somebody reads it.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import { asOwner } from '../support/builders/triggers.js';
import { expectNoConsoleErrors, openConsole, press, readPaths } from '../support/clients/console.js';
import { eventually } from '../support/clocks/eventually.js';
import { sharedNode } from '../support/servers/shared-node.js';

const shared = sharedNode(test);

/** Sixty times as fast, so that the test need not wait for the clock. */
const fastIntervals = `{
  const { setInterval } = window;
  window.setInterval = (work, ms, ...given) => setInterval(work, ms / 60, ...given);
}`;

test.serial('errors appear by themselves until further ones are read', async (t) => {
  const node = await shared.tenant(t);
  for (let number = 0; number < 60; number += 1) {
    const { status } = await asOwner(node, 'GET', `/api/agents/${randomUUID()}`);
    t.is(status, 404);
  }
  const visit = await openConsole(t, node, '/settings');
  const { page } = visit;
  await page.evaluateOnNewDocument(fastIntervals);
  await page.goto(`${node.client.baseUrl}/errors`);
  await page.waitForFunction("document.querySelectorAll('tbody tr').length === 50");
  const paths = readPaths(visit);
  const readings = (): number => paths.filter((path) => /^\/api\/v1\/errors\?.*limit=50/.test(path)).length;
  await eventually(() => readings() >= 3, { what: 'the list that is read again' });
  await page.waitForSelector('[role=status] ::-p-text(Live)');
  await press(page, 'Load more');
  await page.waitForFunction("document.querySelectorAll('tbody tr').length === 60");
  await page.waitForSelector('[role=status] ::-p-text(Not live)');
  const before = readings();
  const ticks = `new Promise((resolve) => {
    let left = 10;
    setInterval(() => { left -= 1; if (left === 0) resolve(); }, 5_000);
  })`;
  await page.evaluate(ticks);
  t.is(readings(), before);
  expectNoConsoleErrors(t, visit);
});
