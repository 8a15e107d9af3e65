import test from 'ava';
import type { HTTPRequest, Page } from 'puppeteer-core';
import { addSecret } from '../support/builders/triggers.js';
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
import { asMember } from '../support/clients/console-people.js';
import { click, fillIn } from '../support/clients/pointer.js';
import { eventually } from '../support/clocks/eventually.js';
import type { TenantNode } from '../support/servers/node.js';
import { sharedNode } from '../support/servers/shared-node.js';
import { answerJson, startToolServer } from '../support/servers/tool-servers.js';

const shared = sharedNode(test);

/** A value that is not offered yet, since the list is being read, would choose nothing. */
async function choose(page: Page, label: string, value: string): Promise<void> {
  await page.waitForSelector(`option[value="${value}"]`);
  await fillIn(page, `::-p-aria([name="${label}"][role="combobox"])`, value);
}

async function makeTrigger(node: TenantNode, name: string, config: object): Promise<string> {
  const { access_token: token, tenant_id: tenant, agent_id } = node.bootstrap;
  const body = { agent_id, name, trigger_type: 'webhook', trigger_config: config };
  const { status, json, text } = await node.client.call('POST', '/api/triggers', { token, tenant, body });
  if (status !== 201) throw new Error(text);
  return json.data.id;
}

const send = (node: TenantNode, id: string, body: object) =>
  node.client.call('POST', `/api/triggers/webhook/${id}`, { body });

test.serial(
  'a webhook is made with the wizard, tried, and its executions appear while one looks',
  async (t) => {
    const node = await shared.tenant(t);
    const visit = await openConsole(t, node, '/triggers');
    const { page } = visit;
    await shows(page, 'No triggers yet');
    await click(page, 'main a[href="/triggers/new"]');
    await shows(page, 'What shall start the agent?');
    t.deepEqual(await axe(page), []);
    await click(page, 'a[href="/triggers/new?kind=webhook"]');
    await fill(page, 'Name', 'Orders');
    await choose(page, 'Agent', node.bootstrap.agent_id);
    await choose(page, 'Senders prove themselves by', 'none');
    await fill(page, 'Field of the message', 'text');
    t.deepEqual(await axe(page), []);
    await press(page, 'Create trigger');
    await shows(page, 'It is shown only now.');
    await shows(page, 'curl -X POST');
    t.deepEqual(await axe(page), []);

    await click(page, 'main a[href*="tab=try"]');
    // The editor is loaded with it, and moves the button.
    await page.waitForSelector('[aria-label="Sample payload"].cm-content');
    await press(page, 'Dry run');
    await shows(page, 'would not run: the payload has no message');
    t.deepEqual(await axe(page), []);
    await press(page, 'Executions', 'tab');
    await shows(page, 'Nothing ran yet');
    await shows(page, 'Live');
    const id =
      String(await page.evaluate('location.pathname'))
        .split('/')
        .at(-1) ?? '';
    await send(node, id, { text: 'Sent <b>meanwhile</b>' });
    await shows(page, 'Sent <b>meanwhile</b>');
    await click(page, 'tbody th button');
    await shows(page, 'sim.echo');
    t.regex(String(await page.evaluate('location.search')), /execution=[0-9a-f-]{36}/, 'it is a link');
    t.deepEqual(await axe(page), []);
    await press(page, 'Open the turn', 'link');
    await page.waitForSelector('::-p-aria([name="Turn"][role="heading"])');
    await page.waitForFunction(`/^\\/turns\\/[0-9a-f-]{36}$/.test(location.pathname)`);
    expectNoConsoleErrors(t, visit);
  },
);

test.serial('dead letters are sent again, and open buffers are listed', async (t) => {
  const node = await shared.tenant(t);
  let refuses = true;
  const receiver = await startToolServer(t, (_, response) => answerJson(response, {}, refuses ? 400 : 200));
  const id = await makeTrigger(node, 'Callback', {
    auth: { type: 'none' },
    session_strategy: { mode: 'derive', fields: ['user'] },
    execution: { mode: 'async', callback: { url: `${receiver.url}/answers` } },
  });
  await send(node, id, { message: 'Hello', user: 'ada' });
  const visit = await openConsole(t, node, `/triggers/${id}?tab=deliveries`);
  const { page } = visit;
  const again = '::-p-aria([name="Send again"][role="button"])';
  // The list is read again by itself.
  await page.waitForSelector(again);
  t.deepEqual(await axe(page), []);
  refuses = false;
  await press(page, 'Send again');
  await shows(page, 'The answer is sent once more');
  await page.waitForFunction(`/\\bdelivered\\b/.test(document.querySelector('tbody')?.innerText ?? '')`);
  t.true(receiver.heard.length >= 2);

  const buffered = await makeTrigger(node, 'Buffered', {
    auth: { type: 'none' },
    session_strategy: { mode: 'derive', fields: ['user'] },
    execution: {
      mode: 'async',
      message_buffer: { enabled: true, window_ms: 60_000 },
      callback: { url: `${receiver.url}/answers` },
    },
  });
  await send(node, buffered, { message: 'one', user: 'ada' });
  await send(node, buffered, { message: 'two', user: 'ada' });
  const { access_token: token, tenant_id: tenant } = node.bootstrap;
  const { json } = await node.client.call('GET', `/api/triggers/${buffered}/buffers`, { token, tenant });
  t.is(json.count, 1);
  t.is(json.data[0].messages, 2);
  await page.goto(`${node.client.baseUrl}/triggers/${buffered}?tab=buffers`);
  await shows(page, json.data[0].session_id);
  t.deepEqual(await axe(page), []);
  // Nobody touches the page while a third message joins.
  await send(node, buffered, { message: 'three', user: 'ada' });
  await page.waitForFunction(`document.querySelector('tbody td')?.innerText === '3'`);
  expectNoConsoleErrors(t, visit);
});

test.serial(
  'an editor changes settings and is not offered what the role lacks; a member sees no triggers',
  async (t) => {
    const node = await shared.tenant(t);
    const id = await makeTrigger(node, 'Shop', { auth: { type: 'none' } });
    const visit = await openConsole(t, await asMember(node, 'editor'), `/triggers/${id}?tab=settings`);
    const { page } = visit;
    await page.setViewport({ width: 390, height: 800 });
    await shows(page, 'How it answers');
    const text = (await page.evaluate('document.body.innerText')) as string;
    t.notRegex(text, /Delete|Deliveries/);
    t.true((await page.evaluate('document.documentElement.scrollWidth <= innerWidth')) as boolean);
    await fill(page, 'Name', 'Shop of Ada');
    await press(page, 'Save');
    await shows(page, 'The settings are saved');
    t.deepEqual(await axe(page), []);
    expectNoConsoleErrors(t, visit);

    const other = await openConsole(t, await asMember(node, 'member'), '/triggers');
    await shows(other.page, 'Your role does not include this');
    t.is(await other.page.$('nav a[href="/triggers"]'), null);
    t.deepEqual(await axe(other.page), []);
  },
);

test.serial('each channel has what its vendor takes, with the address of the trigger', async (t) => {
  const node = await shared.tenant(t);
  for (const name of ['slack', 'whatsapp_cloud', 'twilio'])
    await addSecret(
      node,
      name,
      name === 'twilio' ? 'AC1:token' : '{"signing_secret":"s","bot_token":"xoxb-1"}',
    );
  const made: Record<string, string> = {};
  for (const type of ['slack', 'whatsapp_cloud', 'twilio']) {
    const auth = {
      secret_ref: type,
      ...(type !== 'slack' && { type: type === 'twilio' ? 'basic' : 'bearer' }),
    };
    made[type] = await makeTrigger(node, type, { channel: { type, auth }, execution: { mode: 'async' } });
  }
  const visit = await openConsole(t, node, `/triggers/${made['slack']}?tab=connect`);
  const { page } = visit;
  await shows(page, 'App Manifest');
  const codes = (): Promise<readonly string[]> =>
    page.$$eval('[role=tabpanel] pre', (blocks) => blocks.map(({ textContent }) => textContent ?? ''));
  const addressOf = (type: string): string => `/api/triggers/webhook/${made[type]}`;
  const manifest = JSON.parse((await codes()).find((text) => text.startsWith('{')) ?? '{}');
  t.true(String(manifest.settings.event_subscriptions.request_url).endsWith(addressOf('slack')));
  t.deepEqual(manifest.settings.event_subscriptions.bot_events, ['app_mention', 'message.im']);
  t.deepEqual(await axe(page), []);
  for (const [type, vendor] of [
    ['whatsapp_cloud', 'graph.facebook.com'],
    ['twilio', 'api.twilio.com'],
  ] as const) {
    await page.goto(`${node.client.baseUrl}/triggers/${made[type]}?tab=connect`);
    await shows(page, vendor);
    t.true(
      (await codes()).some((text) => text.includes(vendor) && text.includes(addressOf(type))),
      type,
    );
  }
  await fitsPhone(page);
  expectNoConsoleErrors(t, visit);
});

test.serial('a deleted trigger is not read again', async (t) => {
  const node = await shared.tenant(t);
  const id = await makeTrigger(node, 'Shop', { auth: { type: 'none' } });
  const visit = await openConsole(t, node, `/triggers/${id}`);
  const { page } = visit;
  // A second after its stream opened the page reads the executions once more. A later timer runs after it.
  await shows(page, 'Live');
  await page.evaluate('new Promise((resolve) => setTimeout(resolve, 1_000))');
  await press(page, 'Delete');
  const read = readPaths(visit);
  await click(page, '[role=alertdialog] ::-p-aria([name="Delete"][role="button"])');
  await shows(page, 'Shop was deleted');
  t.deepEqual(
    read.filter((path) => path.includes(id)),
    [],
  );
  expectNoConsoleErrors(t, visit);
});

/** Notes how often the intervals of the page come. */
const noteIntervals = `{
  const { setInterval, clearInterval } = window;
  window.intervals = new Map();
  window.setInterval = (call, ms, ...rest) => {
    const id = setInterval(call, ms, ...rest);
    window.intervals.set(id, ms);
    return id;
  };
  window.clearInterval = (id) => {
    window.intervals.delete(id);
    clearInterval(id);
  };
}`;

test.serial('a trigger is not read while it is being deleted, and again after a failure', async (t) => {
  const node = await shared.tenant(t);
  const id = await makeTrigger(node, 'Shop', { auth: { type: 'none' } });
  const visit = await openConsole(t, node);
  const { page } = visit;
  await page.evaluateOnNewDocument(noteIntervals);
  await page.goto(`${node.client.baseUrl}/triggers/${id}?tab=buffers`);
  await shows(page, 'No buffer is open now');
  const polls = (isPolling: boolean): Promise<unknown> =>
    page.waitForFunction(`[...window.intervals.values()].includes(3_000) === ${isPolling}`);
  await polls(true);

  const deletions: HTTPRequest[] = [];
  await page.setRequestInterception(true);
  page.on('request', (request) => {
    if (request.method() === 'DELETE') deletions.push(request);
    else void request.continue();
  });
  const begin = async (): Promise<HTTPRequest> => {
    await click(page, '[role=alertdialog] ::-p-aria([name="Delete"][role="button"])');
    return eventually(() => deletions.pop(), { what: 'the deletion is sent' });
  };
  await press(page, 'Delete');
  const refused = await begin();
  await polls(false);
  await refused.respond({
    status: 503,
    contentType: 'application/json',
    body: JSON.stringify({ error: 'service_unavailable', message: 'later' }),
  });
  await shows(page, 'Delete failed');
  await polls(true);

  const deletion = await begin();
  const read = readPaths(visit);
  await polls(false);
  // Whoever comes back to a page has what it shows read again.
  await page.evaluate(`document.dispatchEvent(new Event('visibilitychange'))`);
  await deletion.continue();
  await shows(page, 'Shop was deleted');
  t.deepEqual(
    read.filter((path) => path.includes(id)),
    [],
  );
  t.deepEqual(
    visit.problems.filter((problem) => !problem.includes('status of 503')),
    [],
  );
});
