// The people that integrations name: find one, deny, allow, erase.
import test from 'ava';
import { asOwner } from '../support/builders/triggers.js';
import {
  axe,
  expectNoConsoleErrors,
  fill,
  fitsPhone,
  openConsole,
  press,
  readPaths,
  shows,
} from '../support/clients/console.js';
import { click, fillIn } from '../support/clients/pointer.js';
import { sharedNode } from '../support/servers/shared-node.js';

const shared = sharedNode(test);

test.serial('a person is found, denied, allowed again and erased', async (t) => {
  const node = await shared.tenant(t);
  const { api_key: key, agent_id } = node.bootstrap;
  for (const consumer_key of ['ada/lovelace', 'grace']) {
    const opened = await node.client.call('POST', '/api/sessions', { key, body: { agent_id, consumer_key } });
    const body = { session_id: opened.json.data.session_id, message: 'Hello' };
    await node.client.call('POST', `/api/v2/agents/${agent_id}/stream`, { key, body });
  }
  const visit = await openConsole(t, node, '/consumers');
  const { page } = visit;
  await shows(page, 'grace');
  t.deepEqual(await axe(page), []);
  await fillIn(page, '::-p-aria([name="Search keys and names"][role="searchbox"])', 'lovelace');
  // The filter is in the address.
  await page.waitForFunction(`location.search.includes('words=lovelace')`);
  await page.waitForFunction(`!document.body.innerText.includes('grace')`);
  await click(page, 'table a');
  await shows(page, 'What agents remember');
  t.deepEqual(await axe(page), []);
  await press(page, 'Deny');
  await fill(page, 'Reason', 'asked for it');
  await click(page, '[role="dialog"] button[type="submit"]');
  await shows(page, 'asked for it');
  const denied = await asOwner(node, 'GET', '/api/v1/denylist');
  t.like(denied.json.data[0], { consumer_key: 'ada/lovelace', blocked_reason: 'asked for it' });

  await page.goto(`${node.client.baseUrl}/denylist`);
  await shows(page, 'ada/lovelace');
  // Somebody else denies a person: the list follows.
  await asOwner(node, 'POST', '/api/v1/consumers/mallory/deny', { reason: 'spam' });
  await shows(page, 'mallory');
  t.deepEqual(await axe(page), []);
  await press(page, 'Deny a person');
  await fill(page, 'Consumer key', 'never-seen');
  await click(page, '[role="dialog"] button[type="submit"]');
  await shows(page, 'never-seen is denied');
  await fitsPhone(page);

  await page.setViewport({ width: 1200, height: 800 });
  await page.goto(`${node.client.baseUrl}/consumers/${encodeURIComponent('ada/lovelace')}`);
  await press(page, 'Allow again');
  await page.waitForSelector('::-p-aria([name="Deny"][role="button"])');
  await press(page, 'Erase');
  await fill(page, 'Write ada/lovelace to confirm', 'ada/lovelace');
  // From the deletion on: until then the page may still learn that the person was allowed.
  const reading = page
    .waitForRequest((request) => request.method() === 'DELETE')
    .then(() => readPaths(visit));
  await click(page, '[role="dialog"] button[type="submit"]');
  const read = await reading;
  await shows(page, 'The person was erased');
  await page.waitForFunction(`location.pathname.endsWith('/consumers')`);
  await shows(page, 'never-seen');
  t.deepEqual(
    read.filter((path) => path.includes('lovelace')),
    [],
  );
  const gone = await asOwner(node, 'GET', `/api/v1/consumers/${encodeURIComponent('ada/lovelace')}`);
  t.is(gone.status, 404);
  expectNoConsoleErrors(t, visit);
});
