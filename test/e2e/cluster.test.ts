import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import type { Json } from '../support/clients/client.js';
import { openAiAt, startVendor } from '../support/clients/direct-calls.js';
import { createDatabase } from '../support/database/database.js';
import { eventually } from '../support/clocks/eventually.js';
import { operatorToken, startTestNode } from '../support/servers/node.js';
import { callServed, type NodeProcess, startNodes } from '../support/servers/nodes.js';
import { runProgram } from '../support/servers/program.js';
import { sharedRedisUrl } from '../support/servers/redis.js';
import { OpenAiServer } from '../support/servers/vendors/openai-server.js';

const question = { model: 'sim.echo', query: 'hello' };

async function answers(node: NodeProcess, key: string): Promise<boolean> {
  const { text } = await callServed(node, 'POST', '/api/v3/llm/public/call', { key, body: question });
  return text.includes('echo:');
}

/** The description of a cluster once every node has told of itself within the time that it has for that. */
function answered(describe: () => Promise<Json>): Promise<Json> {
  return eventually(
    async () => {
      const seen = await describe();
      return seen.nodes.every(({ standing }: Json) => standing !== 'unreachable') ? seen : undefined;
    },
    { what: 'a report of every node' },
  );
}

// One after the other: three nodes at a time are enough for two cores.
test.serial(
  'after kill -9 of one of three nodes the others take over its slots and continue to serve',
  async (t) => {
    t.timeout(240_000);
    const { nodes, bootstrap, cluster, awaitMembers } = await startNodes(t);
    const [first, second, third] = nodes;
    if (first === undefined || second === undefined || third === undefined) return t.fail();
    const before = await answered(() => cluster(second));
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
  const vendor = await startVendor(t, new OpenAiServer());
  let goOn: () => void = () => undefined;
  const until = new Promise<void>((resolve) => (goOn = resolve));
  vendor.byDefault({ pieces: ['first', ' last'], pause: { after: 1, until } });
  const { nodes, bootstrap, awaitMembers } = await startNodes(t, {
    count: 2,
    environment: openAiAt(vendor),
  });
  const [first, second] = nodes;
  if (first === undefined || second === undefined) return t.fail();
  const response = await fetch(`${second.url}/api/v3/llm/public/call`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': bootstrap.api_key },
    body: JSON.stringify({ model: 'openai.gpt-4.1-mini', query: 'words', stream: true }),
  });
  t.is(response.status, 200);
  let text = '';
  const read = async (): Promise<void> => {
    for await (const piece of response.body ?? []) text += Buffer.from(piece).toString();
  };
  const whole = read();
  await eventually(() => text.includes('first'), { what: 'the first piece' });
  const ended = second.stop();
  await eventually(() => second.program.output().includes('"stopping"'), { what: 'the stop is noted' });
  goOn();
  await whole;
  t.regex(text, /"done":true,"usage"/);
  await awaitMembers(first, 1);
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

test.serial('nodes connect over mutual TLS, and an edge-only node calls and hosts nothing', async (t) => {
  t.timeout(240_000);
  const tls = fileURLToPath(new URL('../../../test/fixtures/tls/', import.meta.url));
  const environment = {
    TROUPE_GRPC_TLS_CA: `${tls}ca.crt`,
    TROUPE_GRPC_TLS_CERT: `${tls}node.crt`,
    TROUPE_GRPC_TLS_KEY: `${tls}node.key`,
  };
  const { nodes, bootstrap, add, cluster } = await startNodes(t, { count: 2, environment });
  const edge = await add({ TROUPE_NODE_ROLES: 'edge' });
  t.true(await answers(edge, bootstrap.api_key));
  await eventually(async () => (await edge.client.call('GET', '/health/ready')).status === 200);
  const seen = await answered(() => cluster(edge));
  const figures = seen.nodes.map(({ standing, slots }: { standing: string; slots: number }) => [
    standing,
    slots > 0,
  ]);
  t.deepEqual(figures, [
    ['member', false],
    ['member', true],
    ['member', true],
  ]);
  for (const node of nodes) t.true(await answers(node, bootstrap.api_key));
  t.is(await edge.stop(), 0, edge.program.output());
});

test.serial(
  'npm run cluster starts complete nodes, prints their addresses, and stops all of them',
  async (t) => {
    t.timeout(240_000);
    const folder = await mkdtemp(join(tmpdir(), 'troupe-cluster-'));
    t.teardown(() => rm(folder, { recursive: true, force: true }));
    const program = runProgram('bin/cluster.mjs', ['--nodes', '2'], {
      DATABASE_URL: (await createDatabase(t)).url,
      REDIS_URL: await sharedRedisUrl(),
      TROUPE_DATA_DIR: folder,
      TROUPE_HTTP_PORT: '0',
    });
    t.teardown(async () => {
      program.process.kill('SIGTERM');
      await program.ended;
    });
    await eventually(
      () => program.output().includes('The cluster is ready') || program.process.exitCode !== null,
      { timeoutMs: 90_000, what: 'the cluster is ready' },
    );
    const bootstrap = JSON.parse(await readFile(join(folder, 'bootstrap.json'), 'utf8'));
    t.true(program.output().includes(bootstrap.api_key));
    t.true(program.output().includes(join(folder, 'bootstrap.json')));
    const urls = [...program.output().matchAll(/node-\d +(http\S+)/g)].map(([, url]) => url);
    t.is(urls.length, 2, program.output());
    for (const url of urls) {
      const answer = await fetch(`${url}/api/v3/llm/public/call`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-api-key': bootstrap.api_key },
        body: JSON.stringify(question),
      });
      t.is(answer.status, 200);
    }
    program.process.kill('SIGTERM');
    t.is(await program.ended, 0, program.output());
    for (const url of urls) await t.throwsAsync(fetch(`${url}/health/live`));
  },
);

test.serial('the cluster endpoint requires the operator token and describes a single node', async (t) => {
  // The others of this file are processes.
  const { client, bootstrap } = await startTestNode(t);
  t.is((await client.call('GET', '/api/v1/cluster')).status, 401);
  t.is((await client.call('GET', '/api/v1/cluster', { key: bootstrap.api_key })).status, 401);
  const { json } = await client.call('GET', '/api/v1/cluster', { token: operatorToken });
  t.is(json.data.nodes.length, 1);
  t.is(json.data.nodes[0].slots, 262_144);
  t.is(json.data.nodes[0].process, json.data.process);
  const { process } = json.data;
  t.deepEqual(json.data.leaving, []);
  t.like(json.data.nodes[0], { lease_age_ms: null });
  t.true(json.data.nodes[0].loop_lag.max_ms >= json.data.nodes[0].loop_lag.p50_ms);
  t.like(json.data.changes, [{ members: 1, joined: [process], left: [], moved: 262_144 }]);
  const drain = (which: string, token: string) =>
    client.call('POST', `/api/v1/cluster/nodes/${which}/drain`, { token });
  t.is((await drain(process, bootstrap.access_token)).status, 401);
  t.is((await drain('node-that-is-not', operatorToken)).json.error, 'not_found');
  const only = await drain(process, operatorToken);
  t.is(only.status, 409, 'the only node stays');
  t.regex(only.text, /only node with slots/);
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
  // The stranger may serve before the first node has read the view that has both.
  await eventually(async () =>
    (await cluster(first)).nodes.some(({ standing }: Json) => standing === 'unreachable'),
  );
});
