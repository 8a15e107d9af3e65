// Makes pictures of the console's screens in docs/images/, from a node with a little data:
//
//   npm run screenshots                  all screens, in light, in dark, and as on a phone
//   npm run screenshots -- overview      those whose name contains the word
//   npm run screenshots -- --to FOLDER   into another folder; with --png for programs that read no WebP
import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { build } from './build.mjs';
import { provideDatabase } from './test-database.mjs';

const { values, positionals } = parseArgs({
  options: { to: { type: 'string' }, png: { type: 'boolean', default: false } },
  allowPositionals: true,
});
const folder =
  values.to === undefined ? fileURLToPath(new URL('../docs/images/', import.meta.url)) : resolve(values.to);

/** The screens that are there; each is a name and an address, or what leads to it. */
const screens = [
  { name: 'sign-in', path: '/sign-in', signedOut: true },
  { name: 'register', path: '/register', signedOut: true },
  { name: 'overview', path: '/' },
  { name: 'inbox', path: '/inbox' },
  { name: 'turns', path: '/turns' },
  { name: 'agents', path: '/agents' },
  { name: 'triggers', path: '/triggers' },
  { name: 'calls', path: '/calls' },
  { name: 'models', path: '/models' },
  { name: 'try-models', path: '/models/try?models=%5B%22sim.echo%22%2C%22sim.tools%22%5D' },
  { name: 'usage', path: '/usage' },
  { name: 'consumers', path: '/consumers' },
  { name: 'keys', path: '/keys' },
  { name: 'secrets', path: '/secrets' },
  { name: 'databases', path: '/databases' },
  { name: 'members', path: '/members' },
  { name: 'audit', path: '/audit' },
  { name: 'errors', path: '/errors' },
  { name: 'settings', path: '/settings' },
  { name: 'operator', path: '/operator' },
].filter(({ name }) => positionals.length === 0 || positionals.some((word) => name.includes(word)));

await build();
mkdirSync(folder, { recursive: true });
const database = await provideDatabase('screenshots');
Object.assign(process.env, database.environment);
const { startTestNode } = await import('../dist/test/support/servers/node.js');
const { tenantOf } = await import('../dist/test/support/servers/shared-node.js');
const { openBrowser } = await import('../dist/test/support/clients/browser.js');
const { signIn } = await import('../dist/test/support/clients/console.js');
const { showcase } = await import('../dist/test/support/builders/showcase.js');

/** @type {(() => Promise<void>)[]} */
const endings = [];
const atEnd = { teardown: (/** @type {() => Promise<void>} */ end) => void endings.push(end) };
const settled = '!document.querySelector("[role=status] .animate-pulse, .animate-pulse")';
try {
  const running = await startTestNode(atEnd, { environment: { TROUPE_TRUSTED_PROXIES: '127.0.0.0/8' } });
  const node = await tenantOf(running, 'Harbour Travel');
  await showcase(node);
  const page = await openBrowser(atEnd);
  const base = node.client.baseUrl;
  let isIn = false;
  for (const { name, path, signedOut = false } of screens) {
    if (!signedOut && !isIn) {
      await page.goto(`${base}/sign-in`);
      await signIn({ node, page });
      isIn = true;
    }
    await page.setViewport({ width: 1280, height: 800 });
    await page.goto(`${base}${path}`, { waitUntil: 'networkidle2', timeout: 30_000 }).catch(() => undefined);
    if (await page.evaluate('document.body.innerText.includes("This address does not exist")')) continue;
    await page.waitForFunction(settled, { timeout: 15_000 }).catch(() => undefined);
    await shot(page, name, 'light', 1280);
    await shot(page, name, 'dark', 1280);
    await shot(page, name, 'light', 390);
  }
} finally {
  for (const end of endings.toReversed()) await end();
  await database.stop();
}
process.exit(0);

async function shot(page, name, theme, width) {
  await page.setViewport({ width, height: width < 500 ? 844 : 800 });
  await page.evaluate(
    `document.documentElement.dataset.theme = '${theme}'; dispatchEvent(new Event('resize'))`,
  );
  await page.waitForFunction('document.fonts.status === "loaded"');
  const type = values.png ? 'png' : 'webp';
  const file = `${name}${theme === 'dark' ? '-dark' : ''}${width < 500 ? '-phone' : ''}.${type}`;
  await page.screenshot({ path: join(folder, file), type, ...(type === 'webp' && { quality: 70 }) });
  process.stdout.write(`${join(folder, file)}\n`);
}
