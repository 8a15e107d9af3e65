// The operator's view of three nodes, of which one is killed and one drained while somebody watches.
import test from 'ava';
import type { Page } from 'puppeteer-core';
import { OperationTable } from '../../src/http/operations/index.js';
import { Client, type Json } from '../support/clients/client.js';
import { axe, fitsPhone, press, shows, visitConsole } from '../support/clients/console.js';
import { click, fillIn } from '../support/clients/pointer.js';
import { eventually } from '../support/clocks/eventually.js';
import { startBalancer } from '../support/servers/balancer.js';
import { operatorToken } from '../support/servers/node.js';
import { callServed, startNodes } from '../support/servers/nodes.js';

const rows = async (page: Page): Promise<readonly string[]> =>
  (await page.evaluate(
    `[...document.querySelectorAll('[aria-label="Nodes"] tbody tr')].map((row) => row.innerText)`,
  )) as string[];

/** The node that answers a reading may not have noted yet why another has gone. */
async function showsChange(page: Page, change: RegExp): Promise<void> {
  let text = '';
  await eventually(
    async () => {
      text = String(
        await page.evaluate(`document.querySelector('[aria-label="Changes of the ring"]')?.innerText`),
      );
      return change.test(text);
    },
    { what: `the change ${change}` },
  ).catch((error: unknown) => {
    throw new Error(`the changes on screen: ${text}`, { cause: error });
  });
}

test.serial('the cluster screen goes on while one node is killed and another drained', async (t) => {
  t.timeout(600_000);
  const { nodes, bootstrap, awaitMembers, cluster } = await startNodes(t, { count: 3 });
  const [serving, drained, staying] = nodes;
  if (serving === undefined || drained === undefined || staying === undefined) throw new Error('three nodes');
  const balancer = await startBalancer(
    t,
    nodes.map(({ url }) => url),
  );
  const atBalancer = { bootstrap, client: new Client(balancer.url, new OperationTable([])) };
  const { page, problems } = await visitConsole(t, atBalancer, '/operator');
  await fillIn(page, 'input[name=token]', operatorToken);
  await press(page, 'Sign in');
  await shows(page, '3 nodes');
  // A node that answers late is shown as unreachable until the next reading.
  await eventually(async () => (await rows(page)).filter((row) => row.includes('member')).length === 3);
  t.deepEqual(await axe(page), []);
  await fitsPhone(page);
  await page.setViewport({ width: 1280, height: 800 });

  // Turns of ten seconds, so that the drained node takes a while to empty.
  const user = { token: bootstrap.access_token, tenant: bootstrap.tenant_id };
  const made = await callServed(staying, 'POST', '/api/agents', {
    ...user,
    body: { name: 'talks', llm_config: { model: 'sim.lorem-400-40' } },
  });
  const agent = String(made.json.data.id);
  await callServed(staying, 'POST', `/api/agents/${agent}/publish`, { ...user, body: {} });

  await serving.kill();
  // Nobody touches the page.
  await eventually(async () => (await rows(page)).length === 2, { timeoutMs: 60_000 });
  await shows(page, '2 nodes');
  await showsChange(page, /node-1-\S+ (?:ended without leaving|refused connections|stopped renewing)/);
  await shows(page, 'Live');

  await awaitMembers(staying, 2);
  const talks = (agentId: string) =>
    Array.from({ length: 12 }, () =>
      callServed(staying, 'POST', `/api/v2/agents/${agentId}/stream`, {
        ...user,
        body: { message: 'Tell me all' },
      }),
    );
  // Short ones, so that both nodes have actors to show.
  await Promise.all(talks(bootstrap.agent_id));
  const index = (await rows(page)).findIndex((row) => row.includes('node-2'));
  await click(page, `[aria-label="Nodes"] tbody tr:nth-child(${index + 1}) button`);
  await shows(page, 'Epochs of actors');
  t.deepEqual(await axe(page), []);
  // The long ones begin just before the drain, which is to find them running however slow the checks were.
  const running = talks(agent);
  await eventually(
    async () => {
      const seen: readonly Json[] = (await cluster(staying)).nodes;
      return seen.some(({ process, mailboxes }) => process.startsWith('node-2') && mailboxes.busy > 0);
    },
    { timeoutMs: 30_000, what: 'a turn runs on the node that is drained' },
  );
  await press(page, 'Drain');
  await shows(page, 'A supervisor may start it again');
  await click(page, '[role=alertdialog] button:last-of-type');
  await shows(page, 'The node leaves');
  await eventually(async () => (await rows(page)).some((row) => row.includes('leaving')), {
    timeoutMs: 30_000,
    everyMs: 20,
  });
  t.is(await drained.program.ended, 0, drained.program.output());
  await page.keyboard.press('Escape');
  await eventually(async () => (await rows(page)).length === 1, { timeoutMs: 60_000 });
  await shows(page, '1 node');
  await showsChange(page, /node-2-\S+ left in order/);
  for (const turn of await Promise.all(running)) t.regex(turn.text, /COMPLETED/);
  // Connections broke, which the browser reports; nothing else went wrong.
  t.deepEqual(
    problems.filter((problem) => !/net::ERR_|Failed to load resource/.test(problem)),
    [],
  );
});
