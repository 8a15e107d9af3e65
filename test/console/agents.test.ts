import test from 'ava';
import type { Page } from 'puppeteer-core';
import {
  axe,
  type ConsoleVisit,
  expectNoConsoleErrors,
  fill,
  openConsole,
  press,
  shows,
} from '../support/clients/console.js';
import { asMember } from '../support/clients/console-people.js';
import { holdRequest } from '../support/clients/held-request.js';
import { click, fillIn } from '../support/clients/pointer.js';
import { eventually } from '../support/clocks/eventually.js';
import type { TenantNode } from '../support/servers/node.js';
import { sharedNode } from '../support/servers/shared-node.js';
import { answerJson, startToolServer } from '../support/servers/tool-servers.js';

const shared = sharedNode(test);

/** Long texts: React does not see a value that a script sets. */
async function type(page: Page, selector: string, text: string): Promise<void> {
  await click(page, selector);
  await page.keyboard.sendCharacter(text);
}

/** A refusal that a test provokes is told by the browser too. */
function forgetRefusals({ problems }: ConsoleVisit): void {
  const kept = problems.filter((problem) => !/status of 400/.test(problem));
  (problems as string[]).splice(0, problems.length, ...kept);
}

async function ask(page: Page, question: string): Promise<void> {
  await fillIn(page, 'textarea[aria-label="Message"]', question);
  await page.focus('textarea[aria-label="Message"]');
  await page.keyboard.press('Enter');
}

test.serial('an agent is made, written, tried, published, compared and rolled back', async (t) => {
  const node = await shared.tenant(t);
  const visit = await openConsole(t, node, '/agents');
  const { page } = visit;
  await press(page, 'New agent');
  await fill(page, 'Name', 'not a name!');
  await press(page, 'Create agent');
  await shows(page, 'must be 1 to 100 letters');
  t.deepEqual(await axe(page), []);
  forgetRefusals(visit);
  await fill(page, 'Name', 'shop-helper');
  await press(page, 'Create agent');
  await shows(page, 'Playground');
  t.regex(String(await page.evaluate('location.pathname')), /^\/agents\/[0-9a-f-]{36}$/);

  await type(page, '[aria-label="System prompt"]', 'You help in a shop.');
  await shows(page, 'Not saved');
  // The list of models may still be on its way, and what it does not offer would choose nothing.
  await page.waitForSelector('select[aria-label="Model"] option[value="sim.echo"]');
  await page.select('select[aria-label="Model"]', 'sim.echo');
  await ask(page, 'Say **this**');
  await page.waitForFunction(`document.querySelector('[role=log] .markdown strong')?.textContent === 'this'`);
  await shows(page, 'sim.echo · $0');
  t.deepEqual(await axe(page), []);

  await press(page, 'Model', 'tab');
  await fillIn(page, '[role=tabpanel] select', 'sim.echo');
  await press(page, 'Save');
  await shows(page, 'The working copy is saved');
  await page.waitForFunction(`!document.body.innerText.includes('Not saved')`);
  await press(page, 'Publish');
  await shows(page, 'Every check passed.');
  t.deepEqual(await axe(page), []);
  await click(page, '[role=dialog] ::-p-aria([name="Publish"][role="button"])');
  await shows(page, 'version 1 serves');

  await page.select('select[aria-label="What answers"]', 'published');
  await ask(page, 'Hello turn');
  await shows(page, 'first word after');

  await press(page, 'Prompt', 'tab');
  await type(page, '[aria-label="System prompt"]', 'Be short. ');
  await press(page, 'Save');
  await page.waitForFunction(`!document.body.innerText.includes('Not saved')`);
  await press(page, 'Versions', 'tab');
  await press(page, 'Compare');
  await page.waitForSelector('.cm-changedLine');
  t.is(await page.evaluate('location.search'), '?tab=versions&version=1', 'the comparison is a link');
  t.deepEqual(await axe(page), []);
  await press(page, 'Roll back');
  await click(page, '[role=alertdialog] ::-p-aria([name="Roll back"][role="button"])');
  await shows(page, 'version 2 serves');
  expectNoConsoleErrors(t, visit);
});

test.serial('what is written while a save is under way stays, and is not saved', async (t) => {
  const node = await shared.tenant(t);
  const agent = await agentOf(node, 'written-on');
  const visit = await openConsole(t, node, `/agents/${agent}`);
  const { page } = visit;
  await type(page, '[aria-label="System prompt"]', 'Saved.');
  const { sent, release } = await holdRequest(page, (request) => request.method() === 'PATCH');
  await press(page, 'Save');
  await sent;
  await type(page, '[aria-label="System prompt"]', ' Written after.');
  await shows(page, '21 of 100,000 characters');
  release();
  await shows(page, 'The working copy is saved');
  await page.waitForFunction(`![...document.querySelectorAll('button')].some((one) => one.ariaBusy)`);
  await shows(page, 'Not saved');
  await shows(page, '21 of 100,000 characters');
  await press(page, 'Discard');
  await shows(page, '6 of 100,000 characters');
  expectNoConsoleErrors(t, visit);
});

const orders = (server: string): string => `
openapi: 3.0.0
info: { title: Orders, version: '1' }
servers: [{ url: '${server}' }]
paths:
  /orders/{id}:
    get:
      operationId: getOrder
      summary: One order
      parameters: [{ name: id, in: path, required: true, schema: { type: string, default: a1 } }]
  /orders:
    post:
      operationId: createOrder
      requestBody:
        content: { application/json: { schema: { $ref: '#/components/schemas/Order' } } }
components:
  schemas:
    Order: { type: object, required: [item], properties: { item: { type: string, default: tea } } }
`;

async function agentOf(node: TenantNode, name: string): Promise<string> {
  const { access_token: token, tenant_id: tenant } = node.bootstrap;
  const body = { name, llm_config: { model: 'sim.echo' } };
  const { json } = await node.client.call('POST', '/api/agents', { token, tenant, body });
  return json.data.id;
}

test.serial(
  'tools are imported, tried and changed; what the node refuses is told at the field',
  async (t) => {
    const node = await shared.tenant(t);
    const server = await startToolServer(t, ({ method, path }, response) =>
      answerJson(response, { seen: `${method} ${path}` }),
    );
    const agent = await agentOf(node, 'orders');
    const visit = await openConsole(t, node, `/agents/${agent}?tab=tools`);
    const { page } = visit;
    await shows(page, 'No tools yet');
    await press(page, 'Import from OpenAPI');
    await type(page, '[role=dialog] textarea', orders(server.url));
    await press(page, 'Read the document');
    await shows(page, 'Orders has 2 operations.');
    t.deepEqual(await axe(page), []);
    await press(page, 'All');
    await press(page, 'Add 2 tools');
    await page.waitForSelector('article[aria-label="createOrder"]');
    await click(page, 'article[aria-label="getOrder"] ::-p-text(Try)');
    // Its editors are loaded with it, and move the button.
    await page.waitForSelector('[role=dialog] [aria-label="Context"].cm-content');
    await press(page, 'Call the tool');
    await shows(page, 'GET /orders/a1');
    t.deepEqual(await axe(page), []);
    await page.keyboard.press('Escape');
    t.deepEqual(
      server.heard.map(({ method, path }) => `${method} ${path}`),
      ['GET /orders/a1'],
    );

    const { access_token: token, tenant_id: tenant } = node.bootstrap;
    const createOrder = async () => {
      const { json } = await node.client.call('GET', `/api/agents/${agent}/schemas`, { token, tenant });
      return json.data.find(({ name }: { name: string }) => name === 'createOrder');
    };
    const { id, revision } = await createOrder();
    // A setting that the form does not show.
    const body = { editor_schema: { api: { response: { max_chars: 500 } } }, revision };
    await node.client.call('PATCH', `/api/agents/${agent}/schemas/${id}`, { token, tenant, body });
    await page.reload();
    await page.waitForSelector('article[aria-label="createOrder"]');
    await click(page, 'article[aria-label="createOrder"] ::-p-text(Edit)');
    await fill(page, 'Address', 'ftp://nowhere');
    await press(page, 'Save tool');
    await shows(page, 'must be an http or https URL');
    // The field with the problem has the focus.
    await page.waitForFunction(`document.activeElement.value === 'ftp://nowhere'`);
    t.deepEqual(await axe(page), []);
    forgetRefusals(visit);
    await fill(page, 'Address', `${server.url}/v2/orders`);
    await press(page, 'Save tool');
    await shows(page, `${server.url}/v2/orders`);
    t.like((await createOrder()).editor_schema.api, {
      method: 'POST',
      url: `${server.url}/v2/orders`,
      body: { item: '${args.item}' },
      response: { max_chars: 500 },
    });
    expectNoConsoleErrors(t, visit);
  },
);

test.serial('a member sees agents and talks to them, and is offered no change', async (t) => {
  const node = await shared.tenant(t);
  const visit = await openConsole(t, await asMember(node, 'member'), '/agents');
  const { page } = visit;
  await page.setViewport({ width: 390, height: 800 });
  await page.waitForSelector('table a');
  t.false(((await page.evaluate('document.body.innerText')) as string).includes('New agent'));
  await page.goto(`${node.client.baseUrl}/agents/${node.bootstrap.agent_id}?tab=tools`);
  await shows(page, 'Your role does not include this');
  const offered = (await page.evaluate(
    `[...document.querySelectorAll('main button')].map((one) => one.innerText)`,
  )) as string[];
  t.deepEqual(
    offered.filter((text) => /Publish|Save|Add|Archive|More/.test(text)),
    [],
  );
  await ask(page, 'Hello from a member');
  await shows(page, 'echo: Hello from a member');
  // Until the turn has ended, what it does pulses, in colours that are hard to read.
  await page.waitForFunction(`!document.querySelector('[role=log] .animate-pulse')`);
  await eventually(async () => page.evaluate('document.documentElement.scrollWidth <= innerWidth'));
  t.deepEqual(await axe(page), []);
  expectNoConsoleErrors(t, visit);
});
