// Every screen with the data of three weeks: nothing that axe finds, in light and in dark; nothing wider than the page, from a
// phone to a wide screen; no console error, and no request to another origin.
import test from 'ava';
import { consoleScreens } from '../support/builders/console-screens.js';
import { decide, showcase, startDesk, storyMs } from '../support/builders/showcase.js';
import { axe, expectNoConsoleErrors, shows, signIn, visitConsole } from '../support/clients/console.js';
import { openAiAt, startVendor } from '../support/clients/direct-calls.js';
import { eventually } from '../support/clocks/eventually.js';
import { startTestNode } from '../support/servers/node.js';
import { tenantOf } from '../support/servers/shared-node.js';
import { OpenAiServer } from '../support/servers/vendors/openai-server.js';

test.serial('no screen breaks with real data, in any theme or width', async (t) => {
  const openai = await startVendor(t, new OpenAiServer());
  openai.decide = decide;
  const desk = await startDesk(t);
  // A node of its own: its clock begins three weeks ago.
  const running = await startTestNode(t, {
    agoMs: storyMs,
    environment: {
      TROUPE_TRUSTED_PROXIES: '127.0.0.0/8',
      TROUPE_WHATSAPP_BASE_URL: desk.url,
      ...openAiAt(openai),
    },
  });
  const node = await tenantOf(running, 'Harbour Travel');
  const made = await showcase(node, desk, running.passMs);
  const visit = await visitConsole(t, node);
  const { page } = visit;
  const found: string[] = [];
  let isIn = false;
  for (const { name, path, ready, signedOut = false } of consoleScreens) {
    if (!signedOut && !isIn) {
      await page.goto(`${node.client.baseUrl}/sign-in`);
      await signIn(visit);
      isIn = true;
    }
    await page.setViewport({ width: 1280, height: 800 });
    const address = typeof path === 'string' ? path : path(made);
    await page.goto(`${node.client.baseUrl}${address}`, { waitUntil: 'domcontentloaded' });
    await shows(page, ready).catch((error: unknown) => {
      throw new Error(`${name} does not show ${ready}`, { cause: error });
    });
    await page.waitForFunction('!document.querySelector("[role=status] > .animate-pulse")');
    found.push(...(await axe(page)).map((violation) => `${name} ${violation}`));
    for (const width of [1_920, 390]) {
      await page.setViewport({ width, height: 844 });
      await eventually(() => page.evaluate('document.documentElement.scrollWidth <= innerWidth'), {
        timeoutMs: 20_000,
        what: `${name} fits ${width} pixels`,
      });
    }
    found.push(...(await axe(page)).map((violation) => `${name} at 390 ${violation}`));
    // With an assertion the time of the test begins anew: each screen has it for itself.
    t.pass(name);
  }
  t.deepEqual(found, []);
  expectNoConsoleErrors(t, visit);
});
