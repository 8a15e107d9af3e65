// Further rows of a list that cannot be read: the person is told, and tries again.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import type { HTTPRequest, Page } from 'puppeteer-core';
import { asOwner } from '../support/builders/triggers.js';
import { openConsole, press } from '../support/clients/console.js';
import { sharedNode } from '../support/servers/shared-node.js';

const shared = sharedNode(test);

/** The node refuses the next request of this kind. */
async function refuseNext(page: Page, isRefused: (request: HTTPRequest) => boolean): Promise<void> {
  let left = 1;
  page.on('request', (request) => {
    if (left === 0 || !isRefused(request)) return void request.continue();
    left -= 1;
    const body = JSON.stringify({ error: 'internal_error', message: 'The node is not well.' });
    void request.respond({ status: 500, contentType: 'application/json', body });
  });
  await page.setRequestInterception(true);
}

const hasCursor = (request: HTTPRequest): boolean => request.url().includes('cursor=');

const has = (page: Page, selector: string, times: number): Promise<unknown> =>
  page.waitForFunction(`document.querySelectorAll(${JSON.stringify(selector)}).length === ${times}`);

test.serial('a table tells that its next page could not be read', async (t) => {
  const node = await shared.tenant(t);
  for (let number = 0; number < 60; number += 1) {
    t.is((await asOwner(node, 'GET', `/api/agents/${randomUUID()}`)).status, 404);
  }
  const { page } = await openConsole(t, node, '/errors');
  await has(page, 'tbody tr', 50);
  await refuseNext(page, hasCursor);
  await press(page, 'Load more');
  await page.waitForSelector('main [role=alert] ::-p-text(More could not be loaded. The node is not well.)');
  await has(page, 'tbody tr', 50);
  await press(page, 'Load more');
  await has(page, 'tbody tr', 60);
  await has(page, 'main [role=alert]', 0);
});

test.serial('a conversation tells that its earlier messages could not be read', async (t) => {
  const node = await shared.tenant(t);
  const { client, bootstrap } = node;
  const { agent_id, api_key: key } = bootstrap;
  const made = await client.call('POST', '/api/sessions', { key, body: { agent_id } });
  const session_id = String(made.json.data.session_id);
  for (let number = 0; number < 26; number += 1) {
    const body = { session_id, message: `message ${number}` };
    t.is((await client.call('POST', `/api/v2/agents/${agent_id}/stream`, { key, body })).status, 200);
  }
  const { page } = await openConsole(t, node, `/inbox?session=${session_id}`);
  await has(page, 'article', 50);
  await refuseNext(page, (request) => request.url().includes('/messages?') && hasCursor(request));
  await press(page, 'Earlier messages');
  await page.waitForSelector('main [role=alert] ::-p-text(More could not be loaded. The node is not well.)');
  await press(page, 'Earlier messages');
  await has(page, 'article', 52);
  await has(page, 'main [role=alert]', 0);
});
