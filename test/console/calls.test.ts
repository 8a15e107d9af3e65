// The log of calls: live, filtered by address, one call whole.
import test from 'ava';
import {
  axe,
  expectNoConsoleErrors,
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
  await press(page, 'sim.echo');
  await shows(page, 'From the cache');
  t.regex(page.url(), /call=/, 'what is shown is in the address');
  t.deepEqual(await axe(page), []);
  await press(page, 'Close');
  await page.waitForSelector('[role=dialog]', { hidden: true });
  await page.select('select[aria-label="Outcome"]', 'error');
  await shows(page, 'No call matches');
  t.regex(page.url(), /status=error/, 'the filter is in the address');
  await fitsPhone(page);
  expectNoConsoleErrors(t, visit);
});
