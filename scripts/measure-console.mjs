// Measures the console in Chromium against a node on this machine, and fails beyond the limits:
//
//   npm run measure:console
//
// The first load (bytes as sent, first paint, time until the overview is there), and the long tasks of the page while 200
// realtime events a second arrive for 20 seconds. No task may be longer than 50 ms.
import { build } from './build.mjs';
import { provideDatabase } from './test-database.mjs';

const limits = { firstLoadBytes: 250 * 1024, taskMs: 50 };
const eventsPerSecond = 200;
const seconds = 20;

await build();
const database = await provideDatabase('measure');
Object.assign(process.env, database.environment);
const { startTestNode } = await import('../dist/test/support/servers/node.js');
const { openBrowser } = await import('../dist/test/support/clients/browser.js');
const { signIn } = await import('../dist/test/support/clients/console.js');
const { openStore } = await import('../dist/src/infra/storage/index.js');
const { recordRealtimeEvent } = await import('../dist/src/conversations/realtime/index.js');
const { tenantScope } = await import('../dist/src/kernel/tenant-scope.js');

/** @type {(() => Promise<void>)[]} */
const endings = [];
const atEnd = { teardown: (/** @type {() => Promise<void>} */ end) => void endings.push(end) };
let isSlow = false;
try {
  const node = await startTestNode(atEnd);
  const page = await openBrowser(atEnd);
  await page.goto(`${node.client.baseUrl}/sign-in`);
  await page.waitForSelector('input[name=password]');
  await signIn({ node, page });

  const session = await page.createCDPSession();
  await session.send('Network.enable');
  await session.send('Network.setCacheDisabled', { cacheDisabled: true });
  // The answers of the API are apart: their length is that of the tenant's data.
  const bytes = { files: 0, answers: 0 };
  const answers = new Set();
  session.on('Network.responseReceived', ({ requestId, response }) => {
    if (new URL(response.url).pathname.startsWith('/api/')) answers.add(requestId);
  });
  session.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    bytes[answers.has(requestId) ? 'answers' : 'files'] += encodedDataLength;
  });
  const startedAt = performance.now();
  await page.reload();
  await page.waitForSelector('dl');
  const shownMs = performance.now() - startedAt;
  const firstLoad = { ...bytes };
  const paint = await page.evaluate(
    "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? Number.NaN",
  );

  await page.waitForFunction("document.body.innerText.includes('Live')");
  await page.evaluate(`
    globalThis.longTasks = [];
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) globalThis.longTasks.push(duration);
    }).observe({ type: 'longtask' });`);
  const store = await openStore({ databaseUrl: node.databaseUrl });
  endings.push(() => store.close());
  const scope = tenantScope(node.bootstrap.tenant_id);
  const began = performance.now();
  let sent = 0;
  while (performance.now() - began < seconds * 1_000) {
    const due = Math.floor(((performance.now() - began) / 1_000) * eventsPerSecond);
    const batch = Math.min(due - sent, 50);
    if (batch > 0) {
      await store.inTenant(scope, async (tx) => {
        for (let count = 0; count < batch; count += 1) {
          await recordRealtimeEvent(tx, {
            type: 'manual_message_sent',
            data: { session_id: crypto.randomUUID(), message_id: crypto.randomUUID(), by: 'measure' },
          });
        }
      });
      sent += batch;
    }
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  const tasks = await page.evaluate('globalThis.longTasks');
  const longest = Math.max(0, ...tasks);
  const rate = Math.round(sent / seconds);
  process.stdout.write(
    [
      `first load: ${Math.round(firstLoad.files / 1024)} KB of files as sent (at most ${limits.firstLoadBytes / 1024}), ${Math.round(firstLoad.answers / 1024)} KB of answers`,
      `first contentful paint: ${Math.round(paint)} ms; overview there after ${Math.round(shownMs)} ms`,
      `events: ${rate} a second for ${seconds} s; tasks over 50 ms: ${tasks.length}, the longest ${Math.round(longest)} ms`,
      '',
    ].join('\n'),
  );
  isSlow = firstLoad.files > limits.firstLoadBytes || longest > limits.taskMs;
} finally {
  for (const end of endings.toReversed()) await end();
  await database.stop();
}
process.exit(isSlow ? 1 : 0);
