// The console in a real browser.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { ExecutionContext } from 'ava';
import type { Page } from 'puppeteer-core';
import { eventually } from '../clocks/eventually.js';
import type { TenantNode } from '../servers/node.js';
import { openBrowser } from './browser.js';
import { click, explained, fillIn } from './pointer.js';

/** What a visit needs of the node, or of what stands before several. */
export type ConsoleNode = Pick<TenantNode, 'client' | 'bootstrap'>;

export interface ConsoleVisit {
  readonly node: ConsoleNode;
  readonly page: Page;
  /** Errors of scripts and of the browser, and requests to other origins, so far. */
  readonly problems: readonly string[];
}

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** A browser at the console's first page. Visits of one file follow each other: two browsers are too much for two cores. */
export async function visitConsole(
  t: ExecutionContext,
  node: ConsoleNode,
  path = '/',
): Promise<ConsoleVisit> {
  t.timeout(600_000);
  const page = await openBrowser(t);
  const { baseUrl } = node.client;
  const problems: string[] = [];
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warn')
      problems.push(`${message.text()} ${message.location().url ?? ''}`);
  });
  page.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(baseUrl) && !/^(?:data|blob):/.test(url)) problems.push(`asked for ${url}`);
  });
  await page.goto(`${baseUrl}${path}`);
  return { node, page, problems };
}

/** Signs the tenant's owner in with the form on screen, and waits for the frame. */
export async function signIn({ node, page }: Pick<ConsoleVisit, 'node' | 'page'>): Promise<void> {
  const { email, password } = node.bootstrap.owner;
  await fill(page, 'E-mail', email);
  await fill(page, 'Password', password);
  await press(page, 'Sign in');
  await page.waitForSelector('nav[aria-label="Screens"]');
}

/** A visit that is signed in and shows the path. */
export async function openConsole(t: ExecutionContext, node: ConsoleNode, path = '/'): Promise<ConsoleVisit> {
  const visit = await visitConsole(t, node, path);
  await signIn(visit);
  return visit;
}

/** The paths that the page reads from here on. */
export function readPaths({ node, page }: Pick<ConsoleVisit, 'node' | 'page'>): readonly string[] {
  const paths: string[] = [];
  page.on('request', (request) => {
    if (request.method() === 'GET') paths.push(request.url().slice(node.client.baseUrl.length));
  });
  return paths;
}

/** Fails the test if the browser reported an error, or asked another origin. */
export function expectNoConsoleErrors(t: ExecutionContext, { problems }: ConsoleVisit): void {
  t.deepEqual(problems, []);
}

/** What a theme can break. The other rules read structure and names, which are the same in both. */
const rulesOfColours = ['color-contrast', 'link-in-text-block'];

/** The violations that axe finds on the page, in light, and of its colours in dark. */
export async function axe(page: Page): Promise<readonly string[]> {
  // In the tool's own world: the policy of the page does not hold there.
  await page.evaluate(axeSource);
  const found = [
    ...(await violations(page, 'light', { resultTypes: ['violations'] })),
    ...(await violations(page, 'dark', { resultTypes: ['violations'], runOnly: rulesOfColours })),
  ];
  await page.evaluate('delete document.documentElement.dataset.theme');
  return found;
}

async function violations(page: Page, theme: string, options: object): Promise<readonly string[]> {
  await page.evaluate(`document.documentElement.dataset.theme = '${theme}'`);
  const found = (await page.evaluate(
    `axe.run(document, ${JSON.stringify(options)}).then(({ violations }) =>
      violations.flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => id + ': ' + html.slice(0, 200) + ' ' + failureSummary)))`,
  )) as string[];
  return found.map((violation) => `${theme}: ${violation}`);
}

export async function fill(page: Page, label: string, text: string): Promise<void> {
  await fillIn(page, `::-p-aria([name="${label}"][role="textbox"])`, text);
}

export async function press(page: Page, name: string, role = 'button'): Promise<void> {
  await click(page, `::-p-aria([name="${name}"][role="${role}"])`);
}

/** Resolves once the page's visible text has the words. */
export async function shows(page: Page, words: string): Promise<void> {
  // Goes on over a navigation, unlike an evaluation.
  const shown = page.waitForFunction(`document.body?.innerText.includes(${JSON.stringify(words)})`);
  await explained(`The page does not show "${words}"`, shown);
}

/** Makes the page as wide as a phone, and resolves once nothing on it is wider. */
export async function fitsPhone(page: Page): Promise<void> {
  await page.setViewport({ width: 390, height: 800 });
  await eventually(() => page.evaluate('document.documentElement.scrollWidth <= innerWidth'), {
    timeoutMs: 20_000,
    everyMs: 50,
  });
}
