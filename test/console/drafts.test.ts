// Drafts over saved values: a save takes nothing that is written meanwhile, here or elsewhere, and sends no half of a text.
import test, { type ExecutionContext } from 'ava';
import type { HTTPRequest, Page } from 'puppeteer-core';
import { asOwner, createTrigger } from '../support/builders/triggers.js';
import { expectNoConsoleErrors, fill, openConsole, press, shows } from '../support/clients/console.js';
import { eventually } from '../support/clocks/eventually.js';
import { holdRequest } from '../support/clients/held-request.js';
import { click, fillIn } from '../support/clients/pointer.js';
import { startShop } from '../support/servers/databases.js';
import { sharedNode } from '../support/servers/shared-node.js';

const shared = sharedNode(test);

const isSave = (request: HTTPRequest): boolean => request.method() === 'PATCH';

const template = 'textarea[name="query_extraction.template"]';

const holds = (page: Page, selector: string, value: string): Promise<unknown> =>
  page.waitForFunction(
    `document.querySelector(${JSON.stringify(selector)})?.value === ${JSON.stringify(value)}`,
  );

const isDone = (page: Page): Promise<unknown> =>
  page.waitForFunction(`![...document.querySelectorAll('button')].some((one) => one.ariaBusy)`);

/** The button is there; disabled means that nothing is written which is not saved. */
const saves = (page: Page, isEnabled: boolean): Promise<unknown> =>
  page.waitForFunction(
    `[...document.querySelectorAll('main button')].some(
      (one) => one.innerText === 'Save' && one.disabled === ${!isEnabled})`,
  );

test.serial('settings of a trigger keep what is written while they are saved', async (t) => {
  const node = await shared.tenant(t);
  const { id } = await createTrigger(node, { query_extraction: { mode: 'template', template: 'As it was' } });
  const visit = await openConsole(t, node, `/triggers/${id}?tab=settings`);
  const { page } = visit;
  await fill(page, 'Name', 'First');
  const { sent, release } = await holdRequest(page, isSave);
  await press(page, 'Save');
  await sent;
  await fillIn(page, template, 'Written meanwhile');
  // Somebody else changes what is not written here.
  const other = { trigger_config: { session_strategy: { mode: 'derive', fields: ['from'] } } };
  const { status, text } = await asOwner(node, 'PATCH', `/api/triggers/${id}`, other);
  t.is(status, 200, text);
  release();
  await page.waitForFunction(`document.querySelector('h1').innerText === 'First'`);
  await isDone(page);
  await holds(page, template, 'Written meanwhile');
  await holds(page, 'input[name="session_strategy.fields"]', 'from');
  await saves(page, true);
  await press(page, 'Save');
  await saves(page, false);
  const { json } = await asOwner(node, 'GET', `/api/triggers/${id}`);
  t.is(json.data.name, 'First');
  t.is(json.data.trigger_config.query_extraction.template, 'Written meanwhile');
  t.deepEqual(json.data.trigger_config.session_strategy.fields, ['from']);
  expectNoConsoleErrors(t, visit);
});

test.serial('settings whose JSON cannot be read are not saved without it', async (t) => {
  const node = await shared.tenant(t);
  const { id } = await createTrigger(node, { query_extraction: { mode: 'template', template: 'As it was' } });
  const visit = await openConsole(t, node, `/triggers/${id}?tab=settings`);
  const { page } = visit;
  await click(page, '::-p-text(All settings as JSON)');
  await click(page, '[aria-label="trigger_config"].cm-content');
  await page.keyboard.sendCharacter('{');
  await shows(page, 'This is not valid JSON.');
  // The fields would write a configuration that the text does not show.
  await page.waitForSelector(`fieldset:disabled ${template}`);
  await press(page, 'Save');
  await shows(page, 'trigger_config is not valid JSON. Correct it and try again.');
  await page.keyboard.press('Tab');
  await click(page, '[aria-label="trigger_config"].cm-content');
  await page.keyboard.down('Control');
  await page.keyboard.press('a');
  await page.keyboard.up('Control');
  await page.keyboard.sendCharacter('{"query_extraction":{"mode":"template","template":"As JSON"}}');
  await holds(page, template, 'As JSON');
  await press(page, 'Save');
  await saves(page, false);
  const { json } = await asOwner(node, 'GET', `/api/triggers/${id}`);
  t.is(json.data.trigger_config.query_extraction.template, 'As JSON');
  expectNoConsoleErrors(t, visit);
});

test.serial('metadata that cannot be read is not saved as text', async (t) => {
  const node = await shared.tenant(t);
  const { agent_id } = node.bootstrap;
  const visit = await openConsole(t, node, `/agents/${agent_id}?tab=details`);
  const { page } = visit;
  await click(page, '[aria-label="Metadata"].cm-content');
  await page.keyboard.sendCharacter('{');
  await shows(page, 'This is not valid JSON.');
  await press(page, 'Save');
  await shows(page, 'metadata is not valid JSON. Correct it and try again.');
  await press(page, 'Discard');
  await page.waitForFunction(`!document.body.innerText.includes('Not saved')`);
  await page.waitForFunction(
    `!document.querySelector('[aria-label="Metadata"].cm-content').innerText.includes('{{')`,
  );
  t.false(((await page.evaluate('document.body.innerText')) as string).includes('not valid JSON'));
  expectNoConsoleErrors(t, visit);
});

test.serial('a list keeps its commas while it is written', async (t) => {
  const node = await shared.tenant(t);
  const visit = await openConsole(t, node, `/agents/${node.bootstrap.agent_id}?tab=details`);
  const { page } = visit;
  const field = '::-p-aria([name="Tags"][role="textbox"])';
  await click(page, field);
  await page.keyboard.type('one, two, ');
  const written = await page.$eval(field, (input) => (input as { value?: string }).value);
  t.is(written, 'one, two, ');
  await press(page, 'Save');
  await page.waitForFunction(`!document.body.innerText.includes('Not saved')`);
  const { json } = await asOwner(node, 'GET', `/api/agents/${node.bootstrap.agent_id}`);
  t.deepEqual(json.data.tags, ['one', 'two']);
  expectNoConsoleErrors(t, visit);
});

/** The connection of a stored database, where a new password is about to be written. */
async function shopOnScreen(t: ExecutionContext) {
  const { place } = await startShop(t);
  const node = await shared.tenant(t);
  const { host, port, database, username, password } = place;
  const config = { host, port, database, username, password, ssl: false };
  const made = await asOwner(node, 'POST', '/api/database-configs', {
    name: 'Shop',
    connection_config: config,
  });
  t.is(made.status, 201, made.text);
  const id = String(made.json.data.id);
  const visit = await openConsole(t, node, `/databases/${id}?tab=connection`);
  await visit.page.waitForSelector('input[name=host]');
  await visit.page.select('::-p-aria([name="Password from"])', 'password');
  return { node, id, password, visit };
}

test.serial('a database keeps what is written while it is saved, but no password', async (t) => {
  const { node, id, password, visit } = await shopOnScreen(t);
  const { page } = visit;
  await fillIn(page, 'input[name=password]', password);
  const { sent, release } = await holdRequest(page, isSave);
  await press(page, 'Save');
  await sent;
  await fill(page, 'Name', 'Written meanwhile');
  release();
  await shows(page, 'The database was changed');
  await isDone(page);
  await holds(page, 'input[name=name]', 'Written meanwhile');
  t.is(await page.$('input[name=password]'), null);
  await press(page, 'Save');
  await saves(page, false);
  const { json } = await asOwner(node, 'GET', `/api/database-configs/${id}`);
  t.is(json.data.name, 'Written meanwhile');
  expectNoConsoleErrors(t, visit);
});

test.serial('a password that is written on while it is saved is not saved yet, and stays', async (t) => {
  const { visit } = await shopOnScreen(t);
  const { page } = visit;
  await fillIn(page, 'input[name=password]', 'half');
  const { sent, release } = await holdRequest(page, isSave);
  await press(page, 'Save');
  await sent;
  await page.focus('input[name=password]');
  await page.keyboard.press('End');
  await page.keyboard.type(' and whole');
  release();
  await shows(page, 'The database was changed');
  await isDone(page);
  await holds(page, 'input[name=password]', 'half and whole');
  await saves(page, true);
  expectNoConsoleErrors(t, visit);
});

test.serial('the settings in metadata are not written while it cannot be read', async (t) => {
  const node = await shared.tenant(t);
  const visit = await openConsole(t, node, `/agents/${node.bootstrap.agent_id}?tab=details`);
  const { page } = visit;
  await click(page, '[aria-label="Metadata"].cm-content');
  await page.keyboard.sendCharacter('{');
  await shows(page, 'This is not valid JSON.');
  await press(page, 'Memory and limits', 'tab');
  await shows(page, 'Correct it under Details first.');
  await page.waitForSelector('fieldset:disabled input[type=number]');
  await press(page, 'Discard');
  await page.waitForSelector('fieldset:not(:disabled) input[type=number]');
  expectNoConsoleErrors(t, visit);
});

test.serial('another tenant takes what is not saved only if the person says so', async (t) => {
  const node = await shared.tenant(t);
  const { access_token: token, tenant_id: tenant } = node.bootstrap;
  await node.client.call('POST', '/api/tenants', { token, body: { name: 'Other shop' } });
  const made = await node.client.call('POST', '/api/agents', { token, tenant, body: { name: 'helper' } });
  const path = `/agents/${made.json.data.id}`;
  const visit = await openConsole(t, node, `${path}?tab=details`);
  const { page } = visit;
  const questions: string[] = [];
  let answers = false;
  page.on('dialog', (dialog) => {
    questions.push(dialog.message());
    void (answers ? dialog.accept() : dialog.dismiss());
  });
  await fill(page, 'Name', 'written');
  await shows(page, 'Not saved');
  const other = async (): Promise<void> => {
    await click(page, '[aria-label^="Tenant:"]');
    await click(page, '[role=menuitem] ::-p-text(Other shop)');
  };
  await other();
  await eventually(() => questions.length === 1, { what: 'the question' });
  await page.waitForFunction(
    `[...document.querySelectorAll('input')].some(({ value }) => value === 'written')`,
  );
  t.is(new URL(page.url()).pathname, path);
  answers = true;
  await other();
  await page.waitForSelector('[aria-label="Tenant: Other shop"]');
  await page.waitForFunction(`location.pathname === '/'`);
  t.deepEqual(questions, Array(2).fill('Leave without saving what you changed?'));
  expectNoConsoleErrors(t, visit);
});
