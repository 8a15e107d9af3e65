// The chat of other sites in a real browser, on a page of another origin. All checks share one browser: a visit builds on
// the one before it.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readFileSync } from 'node:fs';
import test from 'ava';
import type { ElementHandle, HTTPRequest, Page } from 'puppeteer-core';
import { publishAgent } from '../support/builders/published-agents.js';
import { openBrowser } from '../support/clients/browser.js';
import { axe } from '../support/clients/console.js';
import { click } from '../support/clients/pointer.js';
import { eventually } from '../support/clocks/eventually.js';
import { TcpProxy } from '../support/servers/tcp-proxy.js';
import { sharedNode } from '../support/servers/shared-node.js';

const shared = sharedNode(test);
const bound = { timeoutMs: 60_000 };
const compressedBytesMax = 30 * 1024;

test.serial('the script is small and may be loaded by any page', async (t) => {
  const { client } = await shared.tenant(t);
  const { status, headers, text } = await client.call('GET', '/widget.js', {
    headers: { 'accept-encoding': 'br' },
  });
  t.is(status, 200);
  t.is(headers.get('content-type'), 'text/javascript; charset=utf-8');
  t.is(headers.get('cross-origin-resource-policy'), 'cross-origin');
  t.is(headers.get('access-control-allow-origin'), '*');
  t.is(headers.get('content-encoding'), 'br');
  t.true(text.includes('troupe-chat'));
  const packed = readFileSync(new URL('../../widget/widget.js.br', import.meta.url)).byteLength;
  t.log(`${packed} bytes with brotli`);
  t.true(packed < compressedBytesMax);
});

/** A site whose pages carry the script tag, under a policy that allows only the node beside the page itself. */
async function startSite(nodeUrl: string) {
  const tags = new Map<string, string>();
  const server = createServer((request, response) => {
    const tag = tags.get(request.url ?? '') ?? '';
    response.writeHead(200, {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': `default-src 'none'; script-src ${nodeUrl}; connect-src ${nodeUrl}; img-src data:`,
    });
    response.end(
      `<!doctype html><html lang="en"><head><title>A shop</title><link rel="icon" href="data:,"><meta name="viewport" content="width=device-width"></head>
<body><main><h1>A shop</h1><p>Things to buy.</p></main>${tag}</body></html>`,
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    put: (path: string, attributes: string) =>
      tags.set(path, `<script async src="${nodeUrl}/widget.js" ${attributes}></script>`),
    close: () => server.close(),
  };
}

/** Evaluates in the chat's shadow root. */
async function inChat<Value>(page: Page, body: string): Promise<Value> {
  return (await page.evaluate(
    `(() => { const root = document.querySelector('troupe-chat')?.shadowRoot; return root && (${body}); })()`,
  )) as Value;
}

const logText = (page: Page): Promise<string> =>
  inChat(page, `[...root.querySelectorAll('.message')].map((one) => one.textContent).join('\\n')`);
const notice = (page: Page): Promise<string> => inChat(page, `root.querySelector('.notice').textContent`);
const isFree = (page: Page): Promise<boolean> =>
  inChat(page, `root.querySelector('[type=submit]').textContent === 'Send'`);

async function input(page: Page): Promise<ElementHandle> {
  const found = await page.waitForSelector('>>> textarea', { visible: true });
  if (found === null) throw new Error('the chat has no field for a message');
  return found;
}

async function say(page: Page, text: string): Promise<void> {
  await (await input(page)).type(text);
  await page.keyboard.press('Enter');
}

/** The next look of the page for news: answered with what the node says now, once the test asks for it. */
async function heldHistory(page: Page): Promise<{ answer(): Promise<void> }> {
  const held: HTTPRequest[] = [];
  const hold = (request: HTTPRequest): void => {
    const isLook = request.method() === 'GET' && request.url().includes('/messages');
    if (isLook && held.length === 0) held.push(request);
    else void request.continue();
  };
  page.on('request', hold);
  await page.setRequestInterception(true);
  const look = await eventually(() => held[0], { ...bound, what: 'a look of the page for news' });
  const now = await fetch(look.url(), { headers: look.headers() });
  const body = await now.text();
  return {
    async answer() {
      const headers = { 'access-control-allow-origin': now.headers.get('access-control-allow-origin') ?? '' };
      await look.respond({ status: now.status, headers, contentType: 'application/json', body });
      await eventually(() => look.response(), bound);
      // The page has drawn what it made of the answer.
      await page.evaluate('new Promise((drawn) => setTimeout(() => requestAnimationFrame(drawn), 100))');
      await page.setRequestInterception(false);
      page.off('request', hold);
    },
  };
}

test.serial(
  'a visitor chats by keyboard; the answer streams, and survives reloads and lost networks',
  async (t) => {
    t.timeout(600_000);
    const { client, bootstrap } = await shared.tenant(t);
    const network = await TcpProxy.before(client.baseUrl);
    t.teardown(() => network.close());
    const nodeUrl = new URL(network.url).origin;
    const site = await startSite(nodeUrl);
    t.teardown(() => void site.close());
    const slow = await publishAgent(client, bootstrap, { model: 'sim.lorem-60-60' });
    const { access_token: token, tenant_id: tenant, agent_id: echo } = bootstrap;
    const made = await client.call('POST', '/api/keys', {
      token,
      tenant,
      body: { name: 'shop', origins: [site.origin], agent_ids: [slow, echo] },
    });
    const key: string = made.json.data.api_key;
    site.put('/slow', `data-key="${key}" data-agent="${slow}"`);
    site.put(
      '/echo',
      `data-key="${key}" data-agent="${echo}" data-text-title="Hilfe" data-text-greeting="Hallo!"`,
    );
    const page = await openBrowser(t);
    const foreign: string[] = [];
    const errors: string[] = [];
    page.on('pageerror', (error) => errors.push(String(error)));
    page.on('dialog', (dialog) => void (errors.push('a dialog'), dialog.dismiss()));
    page.on('request', (request) => {
      const { origin } = new URL(request.url());
      if (origin !== site.origin && origin !== nodeUrl && !request.url().startsWith('data:'))
        foreign.push(request.url());
    });

    // By keyboard alone: Tab reaches the button, Enter opens, the field has the focus, Escape gives it back.
    await page.goto(`${site.origin}/slow`);
    await page.waitForSelector('>>> .launcher');
    const focused = (): Promise<string> =>
      inChat(page, `root.activeElement?.getAttribute('aria-label') ?? ''`);
    await page.keyboard.press('Tab');
    t.is(await focused(), 'Open the chat');
    await page.keyboard.press('Enter');
    t.is(await focused(), 'Your message');
    await page.keyboard.press('Escape');
    t.is(await focused(), 'Open the chat');
    await page.keyboard.press('Enter');
    t.deepEqual(foreign, [], 'nothing is asked before the first message but the script');

    await say(page, 'Tell me');
    const partial: number[] = [];
    await eventually(async () => {
      const { length } = await logText(page);
      if (partial.at(-1) !== length) partial.push(length);
      return isFree(page);
    }, bound);
    t.true(partial.length > 4, `the answer grew in ${partial.length} steps`);
    const whole = await logText(page);
    const answer = whole.slice(whole.indexOf('Answer: ') + 8);
    t.is(answer.trim().split(/\s+/).length, 60);
    const spoken: string = await inChat(page, `root.querySelector('[role=status]').textContent`);
    t.is(spoken.trim(), `Answer: ${answer.trim()}`, 'a screen reader says the whole answer once');

    // A reload in the middle of an answer.
    await say(page, 'And more');
    const begun = (times: number) => async (): Promise<boolean> =>
      (await logText(page)).split('Answer: ').length > times;
    await eventually(begun(2), bound);
    await page.reload();
    await eventually(async () => (await begun(2)()) && (await isFree(page)), bound);
    const after = await logText(page);
    t.is(after.split('And more').length, 2, 'the message is shown once');
    t.is(after.split('Answer: ').length, 3);
    t.is(after.split('Answer: ')[2]?.trim().split(/\s+/).length, 60);

    // The network goes away and comes back. It passes the beginning of the answer alone, so that the cut finds it
    // unfinished, however late the page shows it.
    network.alterAnswer = (bytes) => {
      if (bytes.includes('event: delta')) network.mode = 'silent';
      return bytes;
    };
    await say(page, 'Again');
    await eventually(begun(3), bound);
    network.alterAnswer = (bytes) => bytes;
    network.cutAll();
    network.mode = 'down';
    network.cutAll();
    await eventually(async () => (await notice(page)).startsWith('The connection is lost'), bound);
    network.mode = 'open';
    await eventually(() => isFree(page), bound);

    const continued = await logText(page);
    t.is(continued.split('Answer: ')[3]?.trim().split(/\s+/).length, 60, 'no word twice, none missing');

    // Stop ends the turn, which would go on for minutes, and a new conversation forgets the old one.
    const endless = { token, tenant, body: { llm_config: { model: 'sim.lorem-5000-60' } } };
    t.is((await client.call('PATCH', `/api/agents/${slow}`, endless)).status, 200);
    const published = { token, tenant, body: {} };
    t.is((await client.call('POST', `/api/agents/${slow}/publish`, published)).status, 200);
    await say(page, 'And again');
    await eventually(begun(4), bound);
    await click(page, '>>> [type=submit]');
    await eventually(async () => (await notice(page)) === 'Stopped.', bound);
    await click(page, '>>> [aria-label="New conversation"]');
    t.is((await logText(page)).trim(), 'Answer: How can we help?');

    // Markup of an answer is text, a picture is a link, and a link opens beside the page without telling where from.
    await page.goto(`${site.origin}/echo`);
    await click(page, '>>> .launcher');
    t.true((await logText(page)).includes('Hallo!'));
    t.is(await inChat(page, `root.querySelector('h2').textContent`), 'Hilfe');
    const attack =
      '<img src=x onerror="document.title=1"> <script>document.title=1</script> **bold** ' +
      '[bad](javascript:document.title=1) ![picture](https://evil.example/p.png) [good](https://example.com/)';
    await say(page, attack);
    await eventually(async () => (await logText(page)).includes('echo:') && (await isFree(page)), bound);
    t.is(await inChat(page, `root.querySelectorAll('.log img, .log script, .log iframe').length`), 0);
    t.true((await logText(page)).includes('<img src=x onerror='));
    t.is(await inChat(page, `root.querySelector('.log strong').textContent`), 'bold');
    const links = await inChat<string[]>(
      page,
      `[...root.querySelectorAll('.log a')].map((one) => one.outerHTML)`,
    );
    t.deepEqual(links, [
      '<a href="https://evil.example/p.png" target="_blank" rel="noopener noreferrer nofollow">picture</a>',
      '<a href="https://example.com/" target="_blank" rel="noopener noreferrer nofollow">good</a>',
    ]);
    t.is(await page.title(), 'A shop');

    // What Markdown does not show: the sign before a character that means itself, and where a link is defined.
    const field = await input(page);
    const defined = '5 \\* 3 is [15][1].\n\n[1]: https://example.com/15';
    await field.evaluate((element, text) => Object.assign(element, { value: text }), defined);
    await page.keyboard.press('Enter');
    await eventually(async () => (await logText(page)).includes('echo: 5') && (await isFree(page)), bound);
    const last = `[...root.querySelectorAll('.message')].at(-1)`;
    t.is(await inChat(page, `${last}.textContent`), 'Answer: echo: 5 * 3 is 15.');
    t.is(await inChat(page, `${last}.querySelector('a').href`), 'https://example.com/15');

    // In light, in dark, on a phone.
    const axeInBoth = async (): Promise<readonly string[]> => {
      const found: string[] = [];
      for (const value of ['dark', 'light']) {
        await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value }]);
        found.push(...(await axe(page)));
      }
      return found;
    };
    t.deepEqual(await axeInBoth(), []);
    await page.setViewport({ width: 390, height: 780 });
    t.deepEqual(await axeInBoth(), []);
    const box = await inChat<{ width: number; height: number }>(
      page,
      `(({ width, height }) => ({ width, height }))(root.querySelector('.panel').getBoundingClientRect())`,
    );
    t.deepEqual(box, { width: 390, height: 780 });
    t.false(await page.evaluate('document.documentElement.scrollWidth > innerWidth'));
    await click(page, '>>> [aria-label="Close the chat"]');
    t.deepEqual(await axeInBoth(), []);

    // A person takes over: what it writes appears by itself.
    await click(page, '>>> .launcher');
    const asOwner = { token, tenant };
    const { json } = await client.call('GET', `/api/v1/sessions?agent_id=${echo}`, asOwner);
    const session = `/api/v1/sessions/${json.data[0].session_id}`;
    await client.call('POST', `${session}/handoff`, { ...asOwner, body: { reason: 'ours' } });
    await say(page, 'Is there somebody?');
    await eventually(async () => (await notice(page)).startsWith('A person takes care'), bound);
    await client.call('POST', `${session}/manual-message`, { ...asOwner, body: { message: 'Ada here.' } });
    await eventually(async () => (await logText(page)).includes('Ada here.'), bound);
    t.is(
      await inChat(page, `root.querySelector('[role=status]').textContent`),
      'A person answers: Ada here.',
      'a screen reader says what the person writes',
    );

    // What the visitor writes stays, although an answer from before comes after it.
    const late = await heldHistory(page);
    await say(page, 'Thank you, Ada.');
    await eventually(async () => (await notice(page)).startsWith('A person takes care'), bound);
    await late.answer();
    t.true((await logText(page)).includes('Thank you, Ada.'));

    t.deepEqual(foreign, []);
    t.deepEqual(errors, []);

    // The same tag on a page of another site.
    const thief = await startSite(client.baseUrl);
    t.teardown(() => void thief.close());
    thief.put('/', `data-key="${key}" data-agent="${echo}"`);
    const answered: string[] = [];
    page.on('response', (response) => {
      if (response.ok() && response.url().includes('/api/')) answered.push(response.url());
    });
    await page.goto(`${thief.origin}/`);
    await click(page, '>>> .launcher');
    await say(page, 'Let me in');
    await eventually(async () => (await notice(page)).startsWith('The connection is lost'), bound);
    t.deepEqual(answered, []);
    t.false((await logText(page)).includes('echo:'));
  },
);
