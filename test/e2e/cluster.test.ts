import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { createDatabase } from '../support/database/database.js';
import { eventually } from '../support/clocks/eventually.js';
import { operatorToken, startTestNode } from '../support/servers/node.js';
import { type NodeProcess, startNodes } from '../support/servers/nodes.js';
import { runProgram } from '../support/servers/program.js';
import { sharedRedisUrl } from '../support/servers/redis.js';

const question = { model: 'sim.echo', query: 'hello' };

async function answers({ client }: NodeProcess, key: string): Promise<boolean> {
  const { status, text } = await client.call('POST', '/api/v3/llm/public/call', { key, body: question });
  return status === 200 && text.includes('echo:');
}

// One after the other: three nodes at a time are enough for two cores.
test.serial(
  'after kill -9 of one of three nodes the others take over its slots and continue to serve',
  async (t) => {
    t.timeout(240_000);
    const { nodes, bootstrap, cluster, awaitMembers } = await startNodes(t);
    const [first, second, third] = nodes;
    if (first === undefined || second === undefined || third === undefined) return t.fail();
    const before = await cluster(second);
    t.is(before.slots, 262_144);
    for (const node of before.nodes) {
      t.is(node.standing, 'member');
      t.true(node.slots > 60_000, `${node.process} holds ${node.slots}`);
      t.deepEqual(node.view, before.view, 'all go by one view');
      t.true(node.counts.activations >= 0);
    }
    for (const node of nodes) t.true(await answers(node, bootstrap.api_key));

    await third.kill();
    for (const node of [first, second]) t.true(await answers(node, bootstrap.api_key));
    await awaitMembers(first, 2);
    const after = await cluster(first);
    t.is(after.slots, 262_144);
    t.true(after.view.number > before.view.number);
    for (const node of [first, second]) {
      t.true(await answers(node, bootstrap.api_key));
      await eventually(async () => (await node.client.call('GET', '/health/ready')).status === 200);
    }
  },
);

test.serial('SIGTERM lets a running stream finish, hands over the slots and exits with 0', async (t) => {
  t.timeout(240_000);
  const { nodes, bootstrap, awaitMembers } = await startNodes(t, { count: 2 });
  const [first, second] = nodes;
  if (first === undefined || second === undefined) return t.fail();
  const response = await fetch(`${second.url}/api/v3/llm/public/call`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': bootstrap.api_key },
    body: JSON.stringify({ model: 'sim.lorem-40-50', query: 'words', stream: true }),
  });
  t.is(response.status, 200);
  const ended = second.stop();
  await awaitMembers(first, 1);
  t.regex(await response.text(), /"done":true,"usage"/);
  t.is(await ended, 0, second.program.output());
  t.true(await answers(first, bootstrap.api_key));
});

test.serial('a node frozen beyond its lease exits with its own code and log line', async (t) => {
  t.timeout(240_000);
  const { nodes, bootstrap, awaitMembers } = await startNodes(t, { count: 2 });
  const [first, second] = nodes;
  if (first === undefined || second === undefined) return t.fail();
  process.kill(second.pid, 'SIGSTOP');
  await awaitMembers(first, 1);
  t.true(await answers(first, bootstrap.api_key));
  process.kill(second.pid, 'SIGCONT');
  t.is(await second.program.ended, 3, second.program.output());
  t.regex(second.program.output(), /"level":"error".*this process lost its lease/);
  t.regex(second.program.output(), /"level":"fatal".*it exits when its open requests have ended/);
});

test.serial('the cluster endpoint needs the operator token and shows a node that is alone', async (t) => {
  // The others of this file are processes.
  const { client, bootstrap } = await startTestNode(t);
  t.is((await client.call('GET', '/api/v1/cluster')).status, 401);
  t.is((await client.call('GET', '/api/v1/cluster', { key: bootstrap.api_key })).status, 401);
  const { json } = await client.call('GET', '/api/v1/cluster', { token: operatorToken });
  t.is(json.data.nodes.length, 1);
  t.is(json.data.nodes[0].slots, 262_144);
  t.is(json.data.nodes[0].process, json.data.process);
  const { text } = await client.call('GET', '/metrics');
  t.regex(text, /^# TYPE troupe_runtime_slots gauge$/m);
  t.regex(text, /^troupe_runtime_slots\{process="[\w-]+"\} 262144$/m);
  t.regex(text, /^troupe_runtime_turn_run_ms_bucket\{le="\+Inf"\} \d+$/m);
});

test.serial('a node with another secret is refused and reports it', async (t) => {
  t.timeout(240_000);
  const { nodes, add, cluster } = await startNodes(t, { count: 1 });
  const [first] = nodes;
  if (first === undefined) return t.fail();
  const stranger = await add({ TROUPE_CLUSTER_SECRET: 'another'.repeat(5) });
  const ready = await stranger.client.call('GET', '/health/ready');
  t.true([200, 503].includes(ready.status));
  t.true(
    (await cluster(first)).nodes.some(({ standing }: { standing: string }) => standing === 'unreachable'),
  );
});
