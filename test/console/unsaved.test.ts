// What is written and not saved is not lost without a question, and is not asked about where nothing is lost.
import test from 'ava';
import type { Page } from 'puppeteer-core';
import { createTrigger } from '../support/builders/triggers.js';
import {
  expectNoConsoleErrors,
  fill,
  openConsole,
  press,
  shows,
  signIn,
} from '../support/clients/console.js';
import { click, fillIn } from '../support/clients/pointer.js';
import { eventually } from '../support/clocks/eventually.js';
import type { TenantNode } from '../support/servers/node.js';
import { sharedNode } from '../support/servers/shared-node.js';

const shared = sharedNode(test);

/** What the page asks, and how the person answers: first to stay, and to leave from `leaves` on. */
function questionsOf(page: Page) {
  const asked: string[] = [];
  const person = { asked, leaves: false };
  page.on('dialog', (dialog) => {
    asked.push(dialog.message());
    void (person.leaves ? dialog.accept() : dialog.dismiss());
  });
  return person;
}

const isAsked = (asked: readonly string[], times: number): Promise<unknown> =>
  eventually(() => asked.length === times, { what: 'the question' });

const holds = (page: Page, selector: string, value: string): Promise<unknown> =>
  page.waitForFunction(
    `document.querySelector(${JSON.stringify(selector)})?.value === ${JSON.stringify(value)}`,
  );

const isAt = (page: Page, path: string): Promise<unknown> =>
  page.waitForFunction(`location.pathname === ${JSON.stringify(path)}`);

const leave = 'Leave without saving what you changed?';
const template = 'textarea[name="query_extraction.template"]';
const answer = '[aria-label="Your answer"]';

test.serial('settings of a trigger outlast a look at another tab, and are not left unasked', async (t) => {
  const node = await shared.tenant(t);
  const { id } = await createTrigger(node, { query_extraction: { mode: 'template', template: 'As it was' } });
  const visit = await openConsole(t, node, `/triggers/${id}?tab=settings`);
  const { page } = visit;
  const person = questionsOf(page);
  await fillIn(page, template, 'Written');
  await press(page, 'Dry run', 'tab');
  await press(page, 'Dry run');
  await press(page, 'Settings', 'tab');
  await holds(page, template, 'Written');
  t.deepEqual(person.asked, []);
  await press(page, 'Secrets', 'link');
  await isAsked(person.asked, 1);
  t.is(new URL(page.url()).pathname, `/triggers/${id}`);
  await holds(page, template, 'Written');
  person.leaves = true;
  await press(page, 'Secrets', 'link');
  await isAt(page, '/secrets');
  t.deepEqual(person.asked, [leave, leave]);
  expectNoConsoleErrors(t, visit);
});

test.serial('two forms of one page are asked about once', async (t) => {
  const visit = await openConsole(t, await shared.tenant(t), '/settings');
  const { page } = visit;
  const person = questionsOf(page);
  await fill(page, 'Name', 'Another name');
  await click(page, 'input[name=usd]');
  await page.keyboard.type('7');
  await press(page, 'Save name and budget');
  await shows(page, 'The settings were saved');
  await press(page, 'Secrets', 'link');
  await isAt(page, '/secrets');
  t.deepEqual(person.asked, []);
  await page.goBack();
  await fill(page, 'Name', 'A third name');
  await page.waitForSelector('input[type=number]');
  for (const input of await page.$$('input[type=number]')) {
    await input.focus();
    await page.keyboard.type('3');
  }
  person.leaves = true;
  await press(page, 'Secrets', 'link');
  await isAt(page, '/secrets');
  t.deepEqual(person.asked, [leave]);
  expectNoConsoleErrors(t, visit);
});

test.serial('a dialog asks before it closes over what is written in it', async (t) => {
  const node = await shared.tenant(t);
  const visit = await openConsole(t, node, `/agents/${node.bootstrap.agent_id}?tab=tools`);
  const { page } = visit;
  const person = questionsOf(page);
  await press(page, 'Add a tool');
  await page.waitForSelector('[role=dialog] input[name=name]');
  await page.keyboard.press('Escape');
  await page.waitForFunction(`document.querySelector('[role=dialog]') === null`);
  t.deepEqual(person.asked, []);
  await press(page, 'Add a tool');
  await fillIn(page, '[role=dialog] input[name=name]', 'weather');
  await page.keyboard.press('Escape');
  await isAsked(person.asked, 1);
  await holds(page, '[role=dialog] input[name=name]', 'weather');
  person.leaves = true;
  await page.keyboard.press('Escape');
  await page.waitForFunction(`document.querySelector('[role=dialog]') === null`);
  t.deepEqual(person.asked, Array(2).fill('Close without saving what you changed?'));
  expectNoConsoleErrors(t, visit);
});

test.serial('a new trigger is not left unasked, and its secret is stored beside it', async (t) => {
  const visit = await openConsole(t, await shared.tenant(t), '/triggers/new?kind=slack');
  const { page } = visit;
  const person = questionsOf(page);
  await fill(page, 'Name', 'Shop floor');
  const target = await page.$eval('main a[href^="/secrets"]', (link) => (link as { target?: string }).target);
  t.is(target, '_blank');
  await press(page, 'Secrets', 'link');
  await isAsked(person.asked, 1);
  await holds(page, 'input[name=name]', 'Shop floor');
  expectNoConsoleErrors(t, visit);
});

async function takenOver(node: TenantNode): Promise<string> {
  const { client, bootstrap } = node;
  const key = bootstrap.api_key;
  const body = { agent_id: bootstrap.agent_id };
  const { json } = await client.call('POST', '/api/sessions', { key, body });
  const id = String(json.data.session_id);
  await client.call('POST', `/api/v1/sessions/${id}/handoff`, { key, body: {} });
  return id;
}

test.serial('half an answer to one conversation waits while another one is read', async (t) => {
  const node = await shared.tenant(t);
  const [one, other] = [await takenOver(node), await takenOver(node)];
  const visit = await openConsole(t, node, `/inbox?session=${one}`);
  const { page } = visit;
  const person = questionsOf(page);
  await fillIn(page, answer, 'Dear Ada, ');
  const open = (session: string): Promise<unknown> =>
    page.evaluate(`history.pushState({}, '', '/inbox?session=${session}')`);
  await open(other);
  await holds(page, answer, '');
  await open(one);
  await holds(page, answer, 'Dear Ada, ');
  t.deepEqual(person.asked, []);
  expectNoConsoleErrors(t, visit);
});

test.serial('what is written outlasts the end of the sign-in, for the same person', async (t) => {
  const node = await shared.tenant(t);
  const path = `/agents/${node.bootstrap.agent_id}`;
  const visit = await openConsole(t, node, `${path}?tab=details`);
  const { page } = visit;
  const person = questionsOf(page);
  await fill(page, 'Name', 'written');
  await shows(page, 'Not saved');
  // As another page of the browser tells it.
  await page.evaluate(`new BroadcastChannel('troupe.session').postMessage('signed-out')`);
  await page.waitForSelector('input[name=password]');
  await signIn(visit);
  await shows(page, 'Not saved');
  await page.waitForFunction(
    `[...document.querySelectorAll('input')].some(({ value }) => value === 'written')`,
  );
  t.is(new URL(page.url()).pathname, path);
  await press(page, 'Discard');
  await page.waitForFunction(`!document.body.innerText.includes('Not saved')`);
  await press(page, 'Secrets', 'link');
  await isAt(page, '/secrets');
  t.deepEqual(person.asked, []);
});
