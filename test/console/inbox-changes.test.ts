// The list of the inbox while it is read: an answer that comes late is older than what has happened since.
import test, { type ExecutionContext } from 'ava';
import type { Page } from 'puppeteer-core';
import { asOwner } from '../support/builders/triggers.js';
import { expectNoConsoleErrors, openConsole } from '../support/clients/console.js';
import type { TenantNode } from '../support/servers/node.js';
import { sharedNode } from '../support/servers/shared-node.js';

const shared = sharedNode(test);

async function newSession({ client, bootstrap }: TenantNode): Promise<string> {
  const { api_key: key, agent_id } = bootstrap;
  const { json, text } = await client.call('POST', '/api/sessions', { key, body: { agent_id } });
  if (json?.data === undefined) throw new Error(text);
  return String(json.data.session_id);
}

async function takeOver(t: ExecutionContext, node: TenantNode, id: string): Promise<void> {
  const { status, text } = await asOwner(node, 'POST', `/api/v1/sessions/${id}/handoff`, {});
  t.is(status, 200, text);
}

const row = (id: string): string => `[data-session="${id}"]`;

/** The list of conversations is read when the page opens; `window.held` lets its first answer through. */
const holdFirstList = `{
  const { fetch } = window;
  let isHeld = false;
  window.fetch = async (...given) => {
    const answer = await fetch(...given);
    const { url = String(given[0]) } = given[0];
    if (isHeld || !url.includes('/api/v1/sessions?')) return answer;
    isHeld = true;
    await new Promise((resolve) => { window.held = resolve; });
    return answer;
  };
}`;

const isTakenOver = (page: Page, id: string): Promise<unknown> =>
  page.waitForSelector(`${row(id)} ::-p-text(Taken over)`);

test.serial(
  'a list that was read before a conversation was taken over does not show it as before',
  async (t) => {
    const node = await shared.tenant(t);
    const first = await newSession(node);
    const second = await newSession(node);
    const visit = await openConsole(t, node, '/settings');
    const { page } = visit;
    await page.evaluateOnNewDocument(holdFirstList);
    await page.goto(`${node.client.baseUrl}/inbox`);
    await page.waitForFunction('window.held !== undefined');
    await takeOver(t, node, first);
    await isTakenOver(page, first);
    await page.evaluate('window.held()');
    await takeOver(t, node, second);
    await isTakenOver(page, second);
    await isTakenOver(page, first);
    expectNoConsoleErrors(t, visit);
  },
);

test.serial('the list of those who wait gains who waits now, and loses who is gone', async (t) => {
  const node = await shared.tenant(t);
  const gone = await newSession(node);
  const next = await newSession(node);
  await takeOver(t, node, gone);
  const visit = await openConsole(t, node, '/inbox?state=waiting');
  const { page } = visit;
  await isTakenOver(page, gone);
  t.is(await page.$(row(next)), null);
  t.is((await asOwner(node, 'DELETE', `/api/v1/sessions/${gone}`)).status, 200);
  await takeOver(t, node, next);
  await isTakenOver(page, next);
  await page.waitForSelector(row(gone), { hidden: true });
  expectNoConsoleErrors(t, visit);
});

test.serial('a message of now is not shown as one of the future', async (t) => {
  const node = await shared.tenant(t);
  const { client, bootstrap } = node;
  const { agent_id, api_key: key } = bootstrap;
  const id = await newSession(node);
  const say = async (message: string): Promise<void> => {
    const body = { session_id: id, message };
    const path = `/api/v2/agents/${agent_id}/stream`;
    t.is((await client.call('POST', path, { key, body })).status, 200);
  };
  await say('The first one');
  const visit = await openConsole(t, node, '/settings');
  const { page } = visit;
  // The list was opened half a minute ago.
  await page.evaluateOnNewDocument(
    '{ const { now } = Date; globalThis.laterMs = 0; Date.now = () => now() - 25_000 + globalThis.laterMs; }',
  );
  await page.goto(`${client.baseUrl}/inbox`);
  await page.waitForSelector(`${row(id)} ::-p-text(The first one)`);
  await page.evaluate('globalThis.laterMs = 25_000');
  await say('The second one');
  await page.waitForSelector(`${row(id)} ::-p-text(The second one)`);
  const shown = await page.$eval(`${row(id)} time`, (time) => time.textContent);
  t.regex(String(shown), /now|ago/);
  expectNoConsoleErrors(t, visit);
});
