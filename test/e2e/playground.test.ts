import test, { type ExecutionContext } from 'ava';
import type { Page } from 'puppeteer-core';
import { openBrowser } from '../support/clients/browser.js';
import { type Conversations, startConversations } from '../support/servers/conversations.js';
import { platformKey, startVendor } from '../support/clients/direct-calls.js';
import { eventually } from '../support/clocks/eventually.js';
import type { TenantNode } from '../support/servers/node.js';
import { sharedNode } from '../support/servers/shared-node.js';
import { httpTool } from '../support/builders/published-agents.js';
import { answerJson, startToolServer } from '../support/servers/tool-servers.js';
import { calling, saying } from '../support/builders/tool-turns.js';
import { click, fillIn } from '../support/clients/pointer.js';
import { OpenAiServer } from '../support/servers/vendors/openai-server.js';

interface Visit {
  readonly node: TenantNode;
  readonly talk: Conversations;
  readonly page: Page;
  /** The browser's failed loads, and the errors of the page's scripts. */
  readonly problems: readonly string[];
}

const vendor = new OpenAiServer('xai');
const shared = sharedNode(test, async (atEnd) => {
  await startVendor(atEnd, vendor);
  return { environment: { XAI_API_KEY: platformKey, XAI_BASE_URL: vendor.baseUrl } };
});

/** Visits follow each other: several browsers are too much for two cores. */
async function visit(t: ExecutionContext): Promise<Visit> {
  t.timeout(600_000);
  const node = await shared.tenant(t);
  const talk = await startConversations(node);
  const page = await openBrowser(t);
  const problems: string[] = [];
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(message.text());
  });
  page.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(node.client.baseUrl) && !url.startsWith('data:')) problems.push(`asked for ${url}`);
  });
  await page.goto(`${node.client.baseUrl}/playground`);
  return { node, talk, page, problems };
}

async function useKey(page: Page, key: string, agentId: string): Promise<void> {
  await fillIn(page, '::-p-aria([name="API key"][role="textbox"])', key);
  await click(page, '::-p-aria([name="Use this key"][role="button"])');
  await fillIn(page, '::-p-aria([name="Agent id"][role="textbox"])', agentId);
}

async function say(page: Page, message: string): Promise<void> {
  await takesMessages(page);
  await fillIn(page, '::-p-aria([name="Message"][role="textbox"])', message);
  await page.keyboard.press('Enter');
}

/** The page takes none before the turn has ended, which is a moment after its last event. */
async function takesMessages(page: Page): Promise<void> {
  await page.waitForSelector('#send:not([disabled])');
}

/** The page's visible text: scripts for the browser are texts here, because there is no document. */
function textsOf(page: Page, selector: string): Promise<string[]> {
  const found = `document.querySelectorAll(${JSON.stringify(selector)})`;
  return page.evaluate(`Array.from(${found}, (one) => one.textContent)`) as Promise<string[]>;
}

async function textOf(page: Page, selector: string): Promise<string> {
  return (await textsOf(page, selector)).at(-1) ?? '';
}

/** Resolves once the last match of the selector has such a text. */
function shows(page: Page, selector: string, wanted: (text: string) => boolean): Promise<unknown> {
  return eventually(async () => wanted(await textOf(page, selector)), { timeoutMs: 60_000, everyMs: 20 });
}

const completed = (text: string): boolean => text === 'COMPLETED';
const answer = '.message .answer';
const note = '.message .note';

test.serial(
  'a visitor with a key sends a message and sees the answer, the events and the session',
  async (t) => {
    const { node, talk, page, problems } = await visit(t);
    await useKey(page, node.bootstrap.api_key, talk.agentId);
    await say(page, 'hello <b>there</b>');
    await shows(page, note, completed);
    t.is(await textOf(page, answer), 'echo: hello <b>there</b>');
    const session = await textOf(page, '#session');
    t.regex(session, /^[0-9a-f-]{36}$/);
    const types = await textsOf(page, '#events b');
    t.is(types[0], 'metadata');
    t.deepEqual(types.slice(-3), ['response', 'metrics', 'done']);
    await say(page, 'again');
    await shows(page, answer, (text) => text === 'echo: again');
    await shows(page, note, completed);
    t.is(await textOf(page, '#session'), session, 'the conversation goes on');
    await click(page, '::-p-aria([name="New session"][role="button"])');
    t.is(await textOf(page, '#session'), 'none yet');
    t.is(await page.evaluate('localStorage.length + sessionStorage.length + document.cookie.length'), 0);
    t.deepEqual(problems, []);
  },
);

test.serial('a signed-in visitor picks a published agent, and a wrong password is reported', async (t) => {
  const { node, talk, page } = await visit(t);
  const { email, password } = node.bootstrap.owner;
  const signIn = async (secret: string): Promise<void> => {
    await fillIn(page, '::-p-aria([name="E-mail"][role="textbox"])', email);
    await fillIn(page, '::-p-aria([name="Password"][role="textbox"])', secret);
    await click(page, '::-p-aria([name="Sign in"][role="button"])');
  };
  await signIn('not the password');
  await page.waitForSelector('#status.wrong');
  await signIn(password);
  await page.waitForSelector(`#agent option[value="${talk.agentId}"]`);
  await page.select('#agent', talk.agentId);
  await say(page, 'hello');
  await shows(page, note, completed);
  t.is(await textOf(page, answer), 'echo: hello');
});

test.serial('a long turn survives a dropped connection, and ends when it is cancelled', async (t) => {
  const { node, talk, page } = await visit(t);
  // Far longer than a browser on a busy machine takes for the clicks; the turn is cancelled.
  await useKey(page, node.bootstrap.api_key, await talk.agent('sim.lorem-4000-25'));
  await say(page, 'words');
  await shows(page, answer, (text) => text.length > 50);
  const before = await textOf(page, answer);
  const continued = page.waitForRequest((request) => request.url().endsWith('/stream'));
  await click(page, '::-p-aria([name="Reconnect"][role="button"])');
  const { 'last-event-id': lastId } = (await continued).headers();
  t.true(Number(lastId) > 0);
  await shows(page, answer, (text) => text.length > before.length + 50);
  await click(page, '::-p-aria([name="Cancel the turn"][role="button"])');
  await shows(page, note, (text) => text === 'CANCELLED');
  const shown = await textOf(page, answer);
  t.true(shown.startsWith(before));
  const ids = (await page.evaluate(
    'Array.from(document.querySelectorAll("#events li"), (one) => one.title)',
  )) as string[];
  t.is(new Set(ids).size, ids.length, 'no event came twice');
  const { data } = await talk.get(`/api/v1/sessions/${await textOf(page, '#session')}/messages`);
  t.is(shown, data[1].content, 'what is shown is what is stored');
});

test.serial('suggested replies are labelled buttons, and thinking and tools are shown', async (t) => {
  const shop = await startToolServer(t, (_, response) => answerJson(response, { drinks: 2 }));
  const { node, talk, page } = await visit(t);
  vendor.decide = ({ body }) => {
    const messages = body['messages'] as { role: string; content: unknown }[];
    const last = messages.at(-1);
    if (last?.role === 'tool') return saying('Which one?');
    return JSON.stringify(last?.content).includes('Tea')
      ? saying('Here is your tea.')
      : {
          ...calling(
            ['suggest_quick_replies', { labels: ['Tea', 'Coffee'] }],
            ['look_up', { what: 'drinks' }],
          ),
          thinking: ['what to', ' offer'],
        };
  };
  await useKey(
    page,
    node.bootstrap.api_key,
    await talk.agent('xai.grok-4.3', {}, [httpTool('look_up', shop.url)]),
  );
  await say(page, 'something to drink, and tell me all about it');
  await shows(page, note, completed);
  t.is(await textOf(page, '.thinking .text'), 'what to offer');
  t.regex(await textOf(page, '.tools li'), /^look_up: finished \(\d+ ms\)$/);
  const labels = await textsOf(page, '.replies button');
  t.deepEqual(labels, ['Tea', 'Coffee']);
  await takesMessages(page);
  await click(page, '::-p-aria([name="Tea"][role="button"])');
  await shows(page, answer, (text) => text === 'Here is your tea.');
  t.is((await textsOf(page, '.replies')).length, 0, 'old suggestions are gone');
});
