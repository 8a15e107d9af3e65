// What a person writes stays, however late an answer arrives.
import test, { type ExecutionContext } from 'ava';
import type { HTTPRequest, Page } from 'puppeteer-core';
import { asOwner, createTrigger, executionsOf, sendSigned } from '../support/builders/triggers.js';
import { expectNoConsoleErrors, fill, openConsole, press } from '../support/clients/console.js';
import { holdRequest } from '../support/clients/held-request.js';
import { click, fillIn } from '../support/clients/pointer.js';
import { eventually } from '../support/clocks/eventually.js';
import type { TenantNode } from '../support/servers/node.js';
import { sharedNode } from '../support/servers/shared-node.js';
import { answerJson, startToolServer } from '../support/servers/tool-servers.js';

const shared = sharedNode(test);

const valueOf = (page: Page, selector: string): Promise<unknown> =>
  page.evaluate(`document.querySelector(${JSON.stringify(selector)}).value`);

/** Resolves once no button shows that its action runs. */
const isDone = (page: Page): Promise<unknown> =>
  page.waitForFunction(`![...document.querySelectorAll('button')].some((one) => one.ariaBusy)`);

test.serial('a form keeps what is written while it is saved', async (t) => {
  const visit = await openConsole(t, await shared.tenant(t), '/settings');
  const { page } = visit;
  await fillIn(page, 'input[name=usd]', '12.5');
  const { sent, release } = await holdRequest(page, (request) => request.method() === 'PATCH');
  await press(page, 'Save name and budget');
  await sent;
  await fill(page, 'Name', 'Written meanwhile');
  release();
  await isDone(page);
  t.is(await valueOf(page, 'input[name=usd]'), '12.5');
  t.is(await valueOf(page, 'input[name=name]'), 'Written meanwhile');
  expectNoConsoleErrors(t, visit);
});

/** A conversation of a channel that people have taken over. */
async function handedOff(t: ExecutionContext, node: TenantNode): Promise<string> {
  const receiver = await startToolServer(t, (_request, response) => answerJson(response, {}));
  const trigger = await createTrigger(node, {
    session_strategy: { mode: 'derive', fields: ['from'] },
    execution: { mode: 'async', callback: { url: receiver.url } },
  });
  await sendSigned(node, trigger, { message: 'Hello', from: 'ada' });
  const id = await eventually(async () => {
    const [first] = await executionsOf(node, trigger);
    return first?.delivery_status === 'delivered' && String(first.session_id);
  });
  const { status, text } = await asOwner(node, 'POST', `/api/v1/sessions/${id}/handoff`, {});
  if (status !== 200) throw new Error(text);
  return id;
}

test.serial('a person writes the next message while one is sent, and a changed one is another', async (t) => {
  const node = await shared.tenant(t);
  const id = await handedOff(t, node);
  const visit = await openConsole(t, node, `/inbox?session=${id}`);
  const { page } = visit;
  const isMessage = (request: HTTPRequest): boolean => request.url().endsWith('/manual-message');
  const box = 'textarea[aria-label="Your answer"]';
  await fillIn(page, box, 'The first');
  const { sent, release } = await holdRequest(page, isMessage);
  await press(page, 'Send');
  await sent;
  await fillIn(page, box, 'The second');
  release();
  await page.waitForSelector('article ::-p-text(The first)');
  t.is(await valueOf(page, box), 'The second');
  // A message whose answer did not come may be taken: a text that differs is no repeat of it.
  const keys: (string | undefined)[] = [];
  page.removeAllListeners('request');
  page.on('request', (request) => {
    if (!isMessage(request)) return void request.continue();
    keys.push(request.headers()['idempotency-key']);
    if (keys.length === 1) void request.abort();
    else void request.continue();
  });
  await press(page, 'Send');
  await page.waitForSelector('form [role=alert]');
  t.is(await valueOf(page, box), 'The second');
  await page.focus(box);
  await page.keyboard.type(', changed');
  await press(page, 'Send');
  await page.waitForSelector('article ::-p-text(The second, changed)');
  t.is(new Set(keys).size, 2);
});

test.serial('a filter keeps letters that are typed while its list is read', async (t) => {
  const visit = await openConsole(t, await shared.tenant(t), '/consumers');
  const { page } = visit;
  const field = '::-p-aria([name="Search keys and names"][role="searchbox"])';
  await click(page, field);
  // The next key comes when the address has the word and the page not yet.
  await page.evaluate(`{
    const replace = history.replaceState;
    history.replaceState = (...given) => {
      history.replaceState = replace;
      replace.apply(history, given);
      document.execCommand('insertText', false, 'lace');
    };
  }`);
  await page.keyboard.sendCharacter('love');
  await page.waitForFunction(`/words=love/.test(location.search)`);
  await page.waitForFunction(`location.search.includes('words=lovelace')`);
  t.is(await valueOf(page, 'input[type=search]'), 'lovelace');
  expectNoConsoleErrors(t, visit);
});

test.serial('published agents are chosen from after the list of agents was filtered', async (t) => {
  const node = await shared.tenant(t);
  const visit = await openConsole(t, node, '/agents?status=published');
  const { page } = visit;
  await page.waitForSelector('table a');
  await press(page, 'Triggers', 'link');
  await click(page, 'main a[href="/triggers/new"]');
  await click(page, 'a[href="/triggers/new?kind=webhook"]');
  await page.waitForSelector(`option[value="${node.bootstrap.agent_id}"]`);
  expectNoConsoleErrors(t, visit);
});

test.serial('Escape leaves a code editor, and the window around it stays', async (t) => {
  const node = await shared.tenant(t);
  const { agent_id } = node.bootstrap;
  const visit = await openConsole(t, node, `/agents/${agent_id}?tab=tools`);
  const { page } = visit;
  await press(page, 'Import from OpenAPI');
  await page.keyboard.press('Escape');
  await page.waitForSelector('[role=dialog]', { hidden: true });
  await press(page, 'Add a tool');
  await click(page, '[role=dialog] .cm-content');
  await page.keyboard.type('{');
  await page.keyboard.press('Escape');
  t.not(await page.$('[role=dialog] .cm-content'), null);
  expectNoConsoleErrors(t, visit);
});
