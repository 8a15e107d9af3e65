// The inbox over three nodes, of which the one that serves it is killed.
import test from 'ava';
import { OperationTable } from '../../src/http/operations/index.js';
import { Client } from '../support/clients/client.js';
import { openConsole, shows } from '../support/clients/console.js';
import { eventually } from '../support/clocks/eventually.js';
import { startBalancer } from '../support/servers/balancer.js';
import { callServed, startNodes } from '../support/servers/nodes.js';

const words = 600;

test.serial('the inbox goes on by another node when the one that serves it is killed', async (t) => {
  t.timeout(600_000);
  const cluster = await startNodes(t);
  const { bootstrap, nodes } = cluster;
  const [serving, other] = nodes;
  if (serving === undefined || other === undefined) throw new Error('three nodes were started');
  const balancer = await startBalancer(
    t,
    nodes.map(({ url }) => url),
  );
  const user = { token: bootstrap.access_token, tenant: bootstrap.tenant_id };
  const model = `sim.lorem-${words}-40`;
  const made = await callServed(other, 'POST', '/api/agents', {
    ...user,
    body: { name: 'talks', llm_config: { model } },
  });
  const agent = String(made.json.data.id);
  await callServed(other, 'POST', `/api/agents/${agent}/publish`, { ...user, body: {} });
  const opened = await callServed(other, 'POST', '/api/sessions', { ...user, body: { agent_id: agent } });
  const session_id = String(opened.json.data.session_id);
  const atBalancer = { bootstrap, client: new Client(balancer.url, new OperationTable([])) };
  const { page, problems } = await openConsole(t, atBalancer, `/inbox?session=${session_id}`);
  await shows(page, 'No message yet.');
  const path = `/api/v2/agents/${agent}/stream`;
  const turn = callServed(other, 'POST', path, { ...user, body: { session_id, message: 'Tell me all' } });
  const written = async (): Promise<number> =>
    Number(await page.evaluate(`document.querySelector('article[aria-busy="true"]')?.innerText.length ?? 0`));
  await eventually(async () => (await written()) > 200, { timeoutMs: 60_000 });
  await serving.kill();
  // Nobody touches the page: it finds another node, and the answer is written to its end.
  await eventually(
    async () => {
      const text = (await page.evaluate(
        `[...document.querySelectorAll('article')].at(-1)?.innerText ?? ''`,
      )) as string;
      return text.split(/\s+/).length >= words;
    },
    { timeoutMs: 120_000 },
  );
  t.regex((await turn).text, /COMPLETED/);
  await eventually(async () => (await page.$('article[aria-busy="true"]')) === null, { timeoutMs: 60_000 });
  await shows(page, 'Live');
  const later = await callServed(other, 'POST', '/api/sessions', {
    ...user,
    body: { agent_id: bootstrap.agent_id },
  });
  await callServed(other, 'POST', `/api/v2/agents/${bootstrap.agent_id}/stream`, {
    ...user,
    body: { session_id: later.json.data.session_id, message: 'After the fault' },
  });
  await shows(page, 'After the fault');
  // Connections broke, which the browser reports; nothing else went wrong.
  t.deepEqual(
    problems.filter((problem) => !/net::ERR_|Failed to load resource/.test(problem)),
    [],
  );
});
