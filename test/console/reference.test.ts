// The reference of the API at /docs, in a real browser.
import { readFileSync } from 'node:fs';
import test from 'ava';
import type { Page } from 'puppeteer-core';
import { readConsole } from '../../src/app/console/index.js';
import { eventually } from '../support/clocks/eventually.js';
import {
  axe,
  expectNoConsoleErrors,
  fill,
  press,
  shows,
  signIn,
  visitConsole,
} from '../support/clients/console.js';
import { sharedNode } from '../support/servers/shared-node.js';

const shared = sharedNode(test);

/** Opens what the address names behind `#`, as a link does. */
async function open(page: Page, address: string, words: string): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(`#${address}`)}`);
  await shows(page, words);
}

async function textOf(page: Page, label: string): Promise<string> {
  return (await page.evaluate(
    `document.querySelector('[aria-label=${JSON.stringify(label)}]')?.textContent ?? ''`,
  )) as string;
}

test.serial('every operation has a page with its fields, answers, errors and samples', async (t) => {
  const node = await shared.tenant(t);
  const visit = await visitConsole(t, node, '/docs#agents.create');
  const { page } = visit;
  await shows(page, 'Create a draft agent');
  t.is(await page.title(), 'Create a draft agent · Troupe API');
  for (const word of ['commercial_name', 'required', 'agents:create', 'x-tenant-id', '409', 'conflict'])
    await shows(page, word);
  t.regex(await textOf(page, 'the request in curl'), /curl -X POST '.*\/api\/agents'/);
  t.deepEqual(await axe(page), []);
  await press(page, 'TypeScript');
  t.regex(await textOf(page, 'the request in TypeScript'), /await fetch\(.*process\.env\.TROUPE_TOKEN/s);
  await press(page, 'Python');
  t.regex(await textOf(page, 'the request in Python'), /requests\.post\(.*json=\{\n\s+"name": "support",/s);
  const operations = node.node.table.operations.map(({ name }) => name);
  const wrong: string[] = [];
  // Some at a time: a call of the browser has a time limit.
  for (let at = 0; at < operations.length; at += 20) {
    const found = await page.evaluate(`(async () => {
      const wrong = [];
      for (const name of ${JSON.stringify(operations.slice(at, at + 20))}) {
        const before = document.querySelector('main > article');
        const isHere = location.hash === '#' + name;
        location.hash = '#' + name;
        const isDrawn = () =>
          (isHere || document.querySelector('main > article') !== before) &&
          document.querySelector('[aria-label="the request in curl"]')?.textContent.includes('curl');
        for (let turn = 0; turn < 200 && !isDrawn(); turn += 1)
          await new Promise((resolve) => setTimeout(resolve, 5));
        await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
        const text = document.querySelector('main').innerText;
        if (!text.includes('Answers') || text.includes('does not exist')) wrong.push(name);
      }
      return wrong;
    })()`);
    wrong.push(...(found as readonly string[]));
  }
  t.deepEqual(wrong, []);
  expectNoConsoleErrors(t, visit);
});

test.serial(
  'a call is tried with a pasted key, whole and as a stream, and the key is not kept',
  async (t) => {
    const node = await shared.tenant(t);
    const visit = await visitConsole(t, node, '/docs#llm.public-call');
    const { page } = visit;
    await shows(page, 'Try it');
    await fill(page, 'API key or access token', node.bootstrap.api_key);
    await press(page, 'Use');
    await shows(page, 'The pasted key is used');
    await fill(page, 'Body (application/json)', '{"model": "sim.echo", "query": "hello reference"}');
    await press(page, 'Send POST');
    await shows(page, '"response": "echo: hello reference"');
    await fill(
      page,
      'Body (application/json)',
      '{"model": "sim.echo", "query": "piece by piece", "stream": true}',
    );
    t.regex(await textOf(page, 'the request in curl'), /curl -N .*X-Api-Key: \$TROUPE_API_KEY/s);
    await press(page, 'Send POST');
    await shows(page, '{"chunk":" piece","done":false}');
    t.deepEqual(await axe(page), []);
    t.notRegex(
      (await page.evaluate('JSON.stringify(localStorage) + JSON.stringify(sessionStorage)')) as string,
      /svc_/,
    );
    t.false((await page.content()).includes(node.bootstrap.api_key));
    await fill(page, 'Body (application/json)', '{"model": ');
    await shows(page, 'is not JSON');
    expectNoConsoleErrors(t, visit);
    await page.reload();
    await shows(page, 'You are not signed in');
  },
);

test.serial('an operation is tried with the sign-in of the browser', async (t) => {
  const node = await shared.tenant(t);
  const visit = await visitConsole(t, node);
  await signIn(visit);
  const { page } = visit;
  await page.goto(`${node.client.baseUrl}/docs#agents.get`);
  await shows(page, `Signed in as ${node.bootstrap.owner.email}`);
  await shows(page, 'Needs id.');
  await fill(page, 'id (path, required)', node.bootstrap.agent_id);
  await press(page, 'Send GET');
  await shows(page, `"id": "${node.bootstrap.agent_id}"`);
  expectNoConsoleErrors(t, visit);
});

test.serial('the search finds operations, and the keyboard opens them', async (t) => {
  const visit = await visitConsole(t, await shared.tenant(t), '/docs');
  const { page } = visit;
  await shows(page, 'Troupe API');
  await shows(page, 'Groups');
  t.deepEqual(await axe(page), []);
  await page.keyboard.press('/');
  await page.keyboard.type('manual message');
  await shows(page, '1 operation');
  await page.keyboard.press('Enter');
  await eventually(async () => (await page.evaluate('location.hash')) === '#sessions.manual-message');
  await open(page, 'error-codes', 'rate_limit_exceeded');
  t.deepEqual(await axe(page), []);
  await open(page, 'no.operation', 'does not exist');
  expectNoConsoleErrors(t, visit);
});

test.serial('on a phone the contents slide over the page, and nothing is wider than it', async (t) => {
  const visit = await visitConsole(t, await shared.tenant(t), '/docs');
  const { page } = visit;
  await page.setViewport({ width: 390, height: 800 });
  await shows(page, 'Groups');
  for (const address of ['', 'triggers.create', 'compat.chat-completions', 'error-codes']) {
    await open(page, address, 'Troupe API');
    t.true(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), address);
  }
  await press(page, 'Open the contents');
  await page.waitForSelector('nav[aria-label="Contents"]', { visible: true });
  t.deepEqual(await axe(page), []);
  await page.keyboard.press('Escape');
  await page.waitForSelector('nav[aria-label="Contents"]', { hidden: true });
  await press(page, 'Show in dark');
  t.is(await page.evaluate('document.documentElement.dataset.theme'), 'dark');
  expectNoConsoleErrors(t, visit);
});

const firstLoadMax = 250 * 1024;

test.serial('the first load with the description of the API stays below its limit', async (t) => {
  const { client } = await shared.tenant(t);
  const files = readConsole();
  const manifest = JSON.parse(readFileSync('dist/console/.vite/manifest.json', 'utf8')) as Readonly<
    Record<string, { file: string; imports?: string[]; css?: string[] }>
  >;
  const needed = new Set<string>();
  const visit = (key: string): void => {
    const chunk = manifest[key];
    if (chunk === undefined || needed.has(chunk.file)) return;
    needed.add(chunk.file);
    for (const style of chunk.css ?? []) needed.add(style);
    for (const next of chunk.imports ?? []) visit(next);
  };
  visit('docs.html');
  const sizes = [...needed].map(
    (file) => files?.assets.get(`/${file}`)?.packed.get('br')?.length ?? Number.NaN,
  );
  const described = await fetch(`${client.baseUrl}/openapi.json`, { headers: { 'accept-encoding': 'br' } });
  t.is(described.headers.get('content-encoding'), 'br');
  t.is(described.headers.get('vary'), 'Accept-Encoding');
  const page = await fetch(`${client.baseUrl}/docs`);
  const bytes =
    sizes.reduce((sum, size) => sum + size, 0) +
    Number(described.headers.get('content-length')) +
    (await page.text()).length;
  t.log(`${needed.size} files, ${Math.round(bytes / 1024)} KB`);
  t.true(bytes < firstLoadMax, `${bytes} bytes`);
});
