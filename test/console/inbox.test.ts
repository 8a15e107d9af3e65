// The inbox: conversations as they come, and what people do with them.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import type { Page } from 'puppeteer-core';
import { httpTool, publishAgent } from '../support/builders/published-agents.js';
import { asOwner, createTrigger, executionsOf, sendSigned } from '../support/builders/triggers.js';
import {
  axe,
  expectNoConsoleErrors,
  fill,
  openConsole,
  press,
  shows,
  signIn,
  visitConsole,
} from '../support/clients/console.js';
import { click } from '../support/clients/pointer.js';
import { ownerView } from '../support/database/owner-view.js';
import { eventually } from '../support/clocks/eventually.js';
import type { TenantNode } from '../support/servers/node.js';
import { sharedNode } from '../support/servers/shared-node.js';
import { answerJson, startToolServer } from '../support/servers/tool-servers.js';

const shared = sharedNode(test);

/** The line of the list with these words. */
async function pressLine(page: Page, words: string): Promise<void> {
  await click(page, `[aria-label="Conversations"] li button ::-p-text(${words})`);
}

const visible = async (page: Page): Promise<string> =>
  (await page.evaluate('document.body.innerText')) as string;

async function say(node: TenantNode, agentId: string, body: object): Promise<string> {
  const { client, bootstrap } = node;
  const path = `/api/v2/agents/${agentId}/stream`;
  const { status, text } = await client.call('POST', path, { key: bootstrap.api_key, body });
  if (status !== 200) throw new Error(`POST ${path}: ${status} ${text}`);
  return text;
}

async function newSession(node: TenantNode, agent_id: string, consumer_key?: string): Promise<string> {
  const body = { agent_id, ...(consumer_key !== undefined && { consumer_key }) };
  const { json, text } = await node.client.call('POST', '/api/sessions', {
    key: node.bootstrap.api_key,
    body,
  });
  if (json?.data === undefined) throw new Error(text);
  return String(json.data.session_id);
}

test.serial(
  'a message appears by itself, a person takes over, answers, and returns it to the agent',
  async (t) => {
    const node = await shared.tenant(t);
    const receiver = await startToolServer(t, (_request, response) => answerJson(response, {}));
    const trigger = await createTrigger(node, {
      session_strategy: { mode: 'derive', fields: ['from'] },
      execution: { mode: 'async', callback: { url: receiver.url } },
    });
    const visit = await openConsole(t, node, '/inbox');
    const { page } = visit;
    await shows(page, 'No conversations yet');
    t.deepEqual(await axe(page), []);
    await shows(page, 'Live');
    const sent = await sendSigned(node, trigger, { message: 'Where is my parcel?', from: 'ada' });
    t.true(sent.status < 300, sent.text);
    await shows(page, 'Where is my parcel?');
    await eventually(async () => (await executionsOf(node, trigger))[0]?.delivery_status === 'delivered', {
      timeoutMs: 30_000,
    });
    await pressLine(page, 'Where is my parcel?');
    await press(page, 'Take over');
    await fill(page, 'Reason', 'ada asked for a person');
    await press(page, 'Take over');
    await shows(page, 'ada asked for a person');
    await fill(page, 'Your answer', 'A person here: it comes today.');
    await press(page, 'Send');
    await eventually(() => receiver.heard.some(({ body }) => body.includes('it comes today')), {
      timeoutMs: 30_000,
    });
    await shows(page, 'A person of your team');
    t.deepEqual(await axe(page), []);
    await press(page, 'Return to agent');
    await shows(page, 'The agent answers. Take the conversation over');
    expectNoConsoleErrors(t, visit);
  },
);

test.serial('an answer is shown while it is written, and a person cancels it', async (t) => {
  const node = await shared.tenant(t);
  const agent = await publishAgent(node.client, node.bootstrap, { model: 'sim.lorem-5000-20' });
  const session_id = await newSession(node, agent);
  const visit = await openConsole(t, node, `/inbox?session=${session_id}`);
  const { page } = visit;
  await shows(page, 'No message yet.');
  const turn = say(node, agent, { session_id, message: 'Tell me a long story' });
  await shows(page, 'Tell me a long story');
  const written = async (): Promise<number> =>
    Number(await page.evaluate(`document.querySelector('article[aria-busy]')?.innerText.length ?? 0`));
  const first = await eventually(async () => (await written()) || undefined, { timeoutMs: 30_000 });
  await eventually(async () => (await written()) > first + 200, { timeoutMs: 30_000 });
  await press(page, 'Cancel turn');
  t.regex(await turn, /CANCELLED/);
  await eventually(async () => (await page.$('article[aria-busy="true"]')) === null, { timeoutMs: 30_000 });
  expectNoConsoleErrors(t, visit);
});

test.serial('a person decides on the call of a tool, with other arguments', async (t) => {
  const node = await shared.tenant(t);
  const server = await startToolServer(t, (_request, response) => answerJson(response, { paid: true }));
  const pay = httpTool('pay', `${server.url}/pay`, { method: 'POST' }) as { editor_schema: object };
  const parameters = { type: 'object', properties: { amount: { type: 'number' } }, required: ['amount'] };
  const agent = await publishAgent(node.client, node.bootstrap, {
    model: 'sim.tools',
    schemas: [{ ...pay, parameters, editor_schema: { ...pay.editor_schema, approval: 'always' } }],
  });
  const session_id = await newSession(node, agent);
  const visit = await openConsole(t, node, '/inbox?state=approval');
  const { page } = visit;
  await shows(page, 'No conversation matches');
  const turn = say(node, agent, { session_id, message: 'use the tool pay please' });
  await pressLine(page, 'use the tool pay please');
  await shows(page, 'The agent wants to call pay');
  t.deepEqual(await axe(page), []);
  t.is(server.heard.length, 0, 'nothing is called before the decision');
  await press(page, 'Approve');
  await eventually(() => server.heard.length === 1, { timeoutMs: 30_000 });
  t.regex(await turn, /COMPLETED/);
  await eventually(async () => !(await visible(page)).includes('The agent wants to call'), {
    timeoutMs: 30_000,
  });
  expectNoConsoleErrors(t, visit);
});

test.serial('a conversation with a message that nests without end opens', async (t) => {
  const node = await shared.tenant(t);
  const session_id = await newSession(node, node.bootstrap.agent_id);
  const message = `Please read this\n${'>'.repeat(2_000)} now`;
  await say(node, node.bootstrap.agent_id, { session_id, message });
  const visit = await openConsole(t, node, `/inbox?session=${session_id}`);
  await visit.page.waitForSelector('article pre ::-p-text(Please read this)');
  await visit.page.waitForSelector('::-p-aria([name="Take over"])');
  expectNoConsoleErrors(t, visit);
});

test.serial('a person is denied beside the conversation', async (t) => {
  const node = await shared.tenant(t);
  const session_id = await newSession(node, node.bootstrap.agent_id, 'mallory');
  await say(node, node.bootstrap.agent_id, { session_id, message: '<img src=x onerror=alert(1)> **bold**' });
  const visit = await openConsole(t, node, `/inbox?session=${session_id}`);
  const { page } = visit;
  await page.setViewport({ width: 1440, height: 900 });
  // The list has the words too.
  await page.waitForSelector('article strong');
  t.is(await page.$('article img'), null, 'what a consumer wrote is no markup');
  await press(page, 'Deny');
  await fill(page, 'Reason', 'sends spam');
  await click(page, '[role="dialog"] button[type="submit"]');
  await shows(page, 'Allow again');
  const { json } = await asOwner(node, 'GET', '/api/v1/consumers/mallory');
  t.like(json.data, { blocked: true, blocked_reason: 'sends spam' });
  t.deepEqual(await axe(page), []);
  expectNoConsoleErrors(t, visit);
});

/** A member of the tenant with an account of its own. */
async function asMember(node: TenantNode): Promise<TenantNode> {
  const owner = { email: `member-${randomUUID()}@test.example`, password: 'correct horse battery' };
  const joined = await node.client.call('POST', '/api/auth/register', { body: { ...owner, name: 'Member' } });
  const rows = await ownerView(node.databaseUrl);
  const { tenant_id } = node.bootstrap;
  const user = joined.json.data.user.id;
  await rows.query('delete from memberships where user_id = $1', [user]);
  await rows.query(`insert into memberships (tenant_id, user_id, role) values ($1, $2, 'member')`, [
    tenant_id,
    user,
  ]);
  await rows.end();
  return { ...node, bootstrap: { ...node.bootstrap, owner } };
}

test.serial('a member reads and is offered nothing else, also on a phone', async (t) => {
  const node = await shared.tenant(t);
  const earlier = await newSession(node, node.bootstrap.agent_id);
  await say(node, node.bootstrap.agent_id, { session_id: earlier, message: 'Before it' });
  const session_id = await newSession(node, node.bootstrap.agent_id, 'grace');
  await say(node, node.bootstrap.agent_id, { session_id, message: 'Hello there' });
  const member = await asMember(node);
  const visit = await visitConsole(t, member, '/inbox');
  const { page } = visit;
  await signIn(visit);
  await page.setViewport({ width: 390, height: 800 });
  await pressLine(page, 'Hello there');
  await page.waitForSelector('article ::-p-text(echo: Hello there)');
  const text = await visible(page);
  for (const offer of ['Take over', 'Suspend', 'Send', 'Cancel turn']) t.false(text.includes(offer), offer);
  t.true(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'));
  await page.setViewport({ width: 1000, height: 800 });
  // On the phone the list was hidden, and what is hidden takes no focus.
  await page.waitForSelector(`[data-session="${session_id}"]`, { visible: true });
  await page.focus(`[data-session="${session_id}"]`);
  await page.keyboard.press('ArrowDown');
  await eventually(async () => !page.url().includes(session_id));
  await page.keyboard.press('ArrowUp');
  await eventually(async () => page.url().includes(session_id));
  // The address changes before the page.
  await page.waitForFunction(
    `document.querySelector('section[aria-label="Conversation"] h2')?.textContent === 'grace'`,
  );
  await page.setViewport({ width: 390, height: 800 });
  await press(page, 'Show the person');
  await shows(page, 'Your role does not include the profiles of people');
  t.deepEqual(await axe(page), []);
  await page.goto(`${node.client.baseUrl}/denylist`);
  await shows(page, 'Your role does not include this');
  await page.goto(`${node.client.baseUrl}/turns`);
  await shows(page, 'Your role does not include this');
  expectNoConsoleErrors(t, visit);
});

test.serial('pages that one can go back to hold no connections to the node', async (t) => {
  const node = await shared.tenant(t);
  const session_id = await newSession(node, node.bootstrap.agent_id);
  await say(node, node.bootstrap.agent_id, { session_id, message: 'Still here' });
  const visit = await openConsole(t, node, '/inbox');
  const { page } = visit;
  // A browser opens six connections to an origin; each of these pages follows three streams.
  for (let round = 0; round < 7; round += 1) {
    await page.goto(`${node.client.baseUrl}/inbox?session=${session_id}`);
    await shows(page, 'echo: Still here');
    await shows(page, 'Live');
  }
  await page.goBack();
  await shows(page, 'Live');
  await say(node, node.bootstrap.agent_id, { session_id, message: 'After going back' });
  await shows(page, 'echo: After going back');
  t.deepEqual(visit.problems, []);
});
