// The sources of triggers on a node that leaves, while one of its streams goes on.
import { once } from 'node:events';
import { connect } from 'node:net';
import test from 'ava';
import { eventually } from '../support/clocks/eventually.js';
import { publishAgent } from '../support/builders/published-agents.js';
import { readServed } from '../support/clients/turn-reader.js';
import { freePort } from '../support/servers/free-port.js';
import { startHeldTool } from '../support/servers/held-tool.js';
import { patientParts, startNodes } from '../support/servers/nodes.js';

/** Whether the port takes connections. */
async function isOpen(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  return once(socket, 'connect')
    .then(
      () => true,
      () => false,
    )
    .finally(() => socket.destroy());
}

test('a node that leaves receives no mail while it still answers', async (t) => {
  t.timeout(600_000);
  // The long turn lasts until the port is closed, and may not be cut off before.
  const parts = { ...patientParts, drainMsMax: 200_000 };
  const mailPort = await freePort();
  const receiving = { TROUPE_MAIL_DOMAIN: 'example.org', TROUPE_MAIL_SENDER_CHECK: 'off' };
  const environment = { ...receiving, TROUPE_SMTP_IN_PORT: String(mailPort) };
  const cluster = await startNodes(t, { count: 1, parts, environment });
  const [leaver] = cluster.nodes;
  if (leaver === undefined) throw new Error('one node was started');
  const other = await cluster.add({ ...receiving, TROUPE_SMTP_IN_PORT: String(await freePort()) });
  await cluster.awaitMembers(leaver, 2);
  const tool = await startHeldTool(t);
  const agentId = await publishAgent(other.client, cluster.bootstrap, tool.agent);
  let hasEnded = false;
  const key = cluster.bootstrap.api_key;
  const long = readServed({
    key,
    body: { message: 'please wait' },
    urls: () => [leaver.url],
    agentId,
  }).finally(() => (hasEnded = true));
  // Heard of below, where it is awaited.
  long.catch(() => undefined);
  await eventually(() => tool.heard.length === 1, { timeoutMs: 60_000, what: 'the long turn has begun' });
  t.true(await isOpen(mailPort));
  const stopped = leaver.stop();
  await cluster.awaitMembers(other, 1);
  await eventually(async () => !(await isOpen(mailPort)), { what: 'the leaving node receives no mail' });

  t.false(hasEnded, 'the leaving node still works');
  tool.release();
  const { outcomes, cuts } = await long;
  t.deepEqual({ outcomes, cuts }, { outcomes: ['COMPLETED'], cuts: 0 });
  t.is(await stopped, 0, leaver.program.output());
});
