import test from 'ava';
import { axe, expectNoConsoleErrors, fitsPhone, openConsole, shows } from '../support/clients/console.js';
import { ask } from '../support/clients/direct-calls.js';
import { eventually } from '../support/clocks/eventually.js';
import { sharedNode } from '../support/servers/shared-node.js';

const shared = sharedNode(test);

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
  t.deepEqual(await axe(page), []);
  await fitsPhone(page);
  expectNoConsoleErrors(t, visit);
});
