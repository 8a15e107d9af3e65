// A real browser without a window.
import { basename } from 'node:path';
import { type Browser, type BrowserContext, launch, type Page } from 'puppeteer-core';
import { installedProgram } from '../servers/installed-program.js';

/** The same engine without the user interface, whose processes take most of the time of a start. */
const shells = ['chromium-headless-shell', 'chrome-headless-shell'];

interface AtEnd {
  /** Of tests; programs that open a browser have no such thing. */
  readonly passed?: boolean;
  log?(...values: readonly unknown[]): void;
  teardown(work: () => Promise<void>): void;
}

/**
 * An empty page that ends with the test. The pages of a process share a browser, whose start takes seconds, and no
 * cookie or store.
 */
export async function openBrowser(t: AtEnd): Promise<Page> {
  const context = await enterBrowser();
  t.teardown(async () => {
    try {
      await context.close();
    } finally {
      leaveBrowser();
    }
  });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  t.teardown(async () => {
    if (t.passed === false) t.log?.(await describe(page));
  });
  return page;
}

let started: Promise<Browser> | undefined;
let pages = 0;
/** The next test of the process begins within this. */
const idleMs = 1_000;

async function enterBrowser(): Promise<BrowserContext> {
  pages += 1;
  try {
    return await (await sharedBrowser()).createBrowserContext();
  } catch (error) {
    leaveBrowser();
    throw error;
  }
}

/** A browser that does not start, or crashes, is not that of the next test. */
function sharedBrowser(): Promise<Browser> {
  if (started !== undefined) return started;
  const starting = start();
  const forget = (): void => {
    if (started === starting) started = undefined;
  };
  started = starting;
  starting.then((browser) => void browser.once('disconnected', forget), forget);
  return starting;
}

/** Ends the browser if no page follows: the process could not end before it. */
function leaveBrowser(): void {
  pages -= 1;
  setTimeout(() => {
    if (pages > 0 || started === undefined) return;
    const ending = started;
    started = undefined;
    void ending.then((browser) => browser.close());
  }, idleMs);
}

async function start(): Promise<Browser> {
  const executablePath = installedProgram({
    names: [...shells, 'chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'],
    debianPackage: 'chromium',
    advice:
      'This test needs a real browser: put chromium or google-chrome on the PATH ' +
      '(Debian: apt-get install chromium-headless-shell, or chromium; macOS: brew install chromium; Fedora: dnf install chromium).',
  });
  return launch({
    executablePath,
    headless: shells.includes(basename(executablePath)) ? 'shell' : true,
    // Root has no sandbox, and containers have little shared memory; only pages of the test's own node are opened. Each page
    // runs its scripts for some seconds, so compiling them takes more time than it saves: 8 % of all that such a test needs.
    args: [
      '--no-sandbox',
      '--disable-dev-shm-usage',
      '--disable-gpu',
      '--js-flags=--no-turbofan,--no-maglev',
    ],
    timeout: 90_000,
    protocolTimeout: 90_000,
  });
}

/** What a failed test leaves on the screen: a wait that ended says only how long it was. */
async function describe(page: Page): Promise<string> {
  try {
    const shown = await page.evaluate(
      `location.href + '\\nfocus: ' + document.activeElement?.outerHTML.slice(0, 200) + '\\n' + document.body.innerText`,
    );
    const text = String(shown);
    const middle = text.length > 8_000 ? `${text.slice(0, 4_000)}\n…\n${text.slice(-4_000)}` : text;
    return `The page at the end of the test:\n${middle}`;
  } catch (error) {
    return `The page at the end of the test cannot be read: ${String(error)}`;
  }
}
