// Makes pictures of the console's screens, from nodes with three weeks of data:
//
//   npm run screenshots                        those of the README and the guides, into docs/images/
//   npm run screenshots -- inbox turn          of these only those whose name contains one of the words
//   npm run screenshots -- --every --to FOLDER every screen: in light, in dark, as on a phone and on a wide screen
//   npm run screenshots -- --to FOLDER --png   for programs that read no WebP
import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { build } from './build.mjs';
import { provideDatabase } from './test-database.mjs';

const { values, positionals } = parseArgs({
  options: {
    to: { type: 'string' },
    png: { type: 'boolean', default: false },
    every: { type: 'boolean', default: false },
  },
  allowPositionals: true,
});
const folder =
  values.to === undefined ? fileURLToPath(new URL('../docs/images/', import.meta.url)) : resolve(values.to);

const light = { theme: 'light', width: 1280, height: 800, ending: '' };
const dark = { theme: 'dark', width: 1280, height: 800, ending: '-dark' };
const phone = { theme: 'light', width: 390, height: 844, ending: '-phone' };
const darkPhone = { theme: 'dark', width: 390, height: 844, ending: '-dark-phone' };
const wide = { theme: 'light', width: 1920, height: 1080, ending: '-wide' };
const shots = values.every ? [light, dark, phone, darkPhone, wide] : [light];

/** The pictures of README and guides; other screens, and other forms of these, are taken with `--every` alone. */
const ofPages = ['overview', 'inbox', 'approval', 'turn', 'agents', 'agent', 'triggers', 'usage', 'cluster'];

await build();
mkdirSync(folder, { recursive: true });
const database = await provideDatabase('screenshots');
Object.assign(process.env, database.environment);
const { operatorToken, startTestNode } = await import('../dist/test/support/servers/node.js');
const { startNodes } = await import('../dist/test/support/servers/nodes.js');
const { tenantOf } = await import('../dist/test/support/servers/shared-node.js');
const { openBrowser } = await import('../dist/test/support/clients/browser.js');
const { press, shows, signIn } = await import('../dist/test/support/clients/console.js');
const { openAiAt, startVendor } = await import('../dist/test/support/clients/direct-calls.js');
const { OpenAiServer } = await import('../dist/test/support/servers/vendors/openai-server.js');
const { decide, showcase, startDesk, storyMs } = await import('../dist/test/support/builders/showcase.js');
const { consoleScreens } = await import('../dist/test/support/builders/console-screens.js');

const cluster = { name: 'cluster', path: '/operator', nodes: 3, ready: '3 nodes' };
const screens = [...consoleScreens, cluster].filter(
  ({ name }) =>
    (values.every || ofPages.includes(name)) &&
    (positionals.length === 0 || positionals.some((word) => name.includes(word))),
);

/** @type {(() => Promise<void>)[]} */
const endings = [];
const atEnd = { teardown: (/** @type {() => Promise<void>} */ end) => void endings.push(end) };
const settled = '!document.querySelector("[role=status] > .animate-pulse")';
try {
  const page = await openBrowser(atEnd);
  const ofTenant = screens.filter(({ nodes }) => nodes === undefined);
  if (ofTenant.length > 0) await takeTenant(page, ofTenant);
  const ofCluster = screens.filter(({ nodes }) => nodes !== undefined);
  if (ofCluster.length > 0) await takeCluster(page, ofCluster);
} finally {
  for (const end of endings.toReversed()) await end();
  await database.stop();
}
process.exit(0);

async function takeTenant(page, wanted) {
  const openai = await startVendor(atEnd, new OpenAiServer());
  openai.decide = decide;
  const desk = await startDesk(atEnd);
  const running = await startTestNode(atEnd, {
    agoMs: storyMs,
    environment: {
      TROUPE_TRUSTED_PROXIES: '127.0.0.0/8',
      TROUPE_WHATSAPP_BASE_URL: desk.url,
      ...openAiAt(openai),
    },
  });
  const node = await tenantOf(running, 'Harbour Travel');
  const made = await showcase(node, desk, running.passMs);
  const base = node.client.baseUrl;
  const isSignedOut = ({ signedOut = false }) => signedOut;
  for (const screen of wanted.filter(isSignedOut)) await take(page, base, screen, made);
  const others = wanted.filter((screen) => !isSignedOut(screen));
  if (others.length === 0) return;
  await page.goto(`${base}/sign-in`);
  await signIn({ node, page });
  for (const screen of others) await take(page, base, screen, made);
}

/** Three processes over one database and one Redis, as an operator sees them. */
async function takeCluster(page, wanted) {
  const { nodes, bootstrap } = await startNodes(atEnd, { count: 3 });
  await beginTurns(nodes[0].client, bootstrap);
  for (const screen of wanted) {
    await page.goto(`${nodes[0].url}${screen.path}`);
    await page.locator('input[name=token]').fill(operatorToken);
    await press(page, 'Sign in');
    await shows(page, screen.ready);
    for (const shot of shots) await shoot(page, screen.name, shot);
  }
}

/** Turns of half a minute, so that the nodes have actors and something to do. */
async function beginTurns(client, { access_token: token, tenant_id: tenant }) {
  const body = { name: 'talks', llm_config: { model: 'sim.lorem-600-50' } };
  const { json } = await client.call('POST', '/api/agents', { token, tenant, body });
  await client.call('POST', `/api/agents/${json.data.id}/publish`, { token, tenant, body: {} });
  const path = `/api/v2/agents/${json.data.id}/stream`;
  for (let count = 0; count < 24; count += 1)
    void client
      .call('POST', path, { token, tenant, body: { message: 'Tell me all' } })
      .catch(() => undefined);
}

async function take(page, base, { name, path, ready }, made) {
  const address = typeof path === 'string' ? path : path(made);
  // One load for all pictures of a screen: each asks for the sign-in again, which is limited by address.
  await page.goto(`${base}${address}`, { waitUntil: 'domcontentloaded', timeout: 30_000 });
  // What streams keeps the network busy for ever, so only the first answers are waited for.
  await page.waitForNetworkIdle({ idleTime: 300, concurrency: 4, timeout: 6_000 }).catch(() => undefined);
  await page.waitForFunction(settled, { timeout: 15_000 }).catch(() => undefined);
  if (ready !== undefined) await shows(page, ready);
  for (const shot of shots) await shoot(page, name, shot);
}

async function shoot(page, name, { theme, width, height, ending }) {
  await page.setViewport({ width, height });
  await page.evaluate(
    `document.documentElement.dataset.theme = '${theme}'; dispatchEvent(new Event('resize'))`,
  );
  await page.waitForFunction('document.fonts.status === "loaded"');
  // Charts are drawn again in the next pictures after the change of the theme.
  await page.evaluate('new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))');
  const type = values.png ? 'png' : 'webp';
  const file = `${name}${ending}.${type}`;
  await page.screenshot({ path: join(folder, file), type, ...(type === 'webp' && { quality: 70 }) });
  const wider = await page.evaluate('document.documentElement.scrollWidth > innerWidth');
  process.stdout.write(`${join(folder, file)}${wider ? ' (wider than the page)' : ''}\n`);
}
