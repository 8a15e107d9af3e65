import test from 'ava';
import { eventually } from '../support/clocks/eventually.js';
import { TcpProxy } from '../support/servers/tcp-proxy.js';
import { Load, lostAndUnasked } from './load.js';
import { ProcessCluster } from './process-cluster.js';

test.serial('links that are cut or silent for seconds lose no call and no member', async (t) => {
  t.timeout(300_000);
  const cluster = await ProcessCluster.start(t, { workers: 1 });
  const proxies: TcpProxy[] = [];
  // The others are dialed through a proxy each, by the edge and by their peers.
  const proxied = async (port: number): Promise<string> => {
    const proxy = await TcpProxy.before(`tcp://127.0.0.1:${port}`);
    t.teardown(() => proxy.close());
    proxies.push(proxy);
    return new URL(proxy.url).host;
  };
  await Promise.all([cluster.startWorker(proxied), cluster.startWorker(proxied)]);
  await cluster.agreed(cluster.workers);
  const before = cluster.workers.map((worker) => worker.viewNumber);
  const keys = cluster.workers.flatMap((worker) => cluster.keysOf(worker, 5));
  const load = new Load(t, cluster, keys, 30_000);
  const more = async (count: number): Promise<void> => {
    const until = load.done + count;
    await eventually(() => load.done >= until, { timeoutMs: 40_000, what: `${count} more additions` });
  };
  await more(50);
  for (const proxy of proxies) {
    proxy.cutAll();
    await more(50);
  }
  for (const proxy of proxies) proxy.mode = 'silent';
  // The directly dialed node continues; the links to the others are found dead meanwhile.
  const [first] = cluster.workers;
  if (first === undefined) throw new Error('a worker');
  const [direct = ''] = cluster.keysOf(first, 1);
  for (let number = 0; number < 100; number += 1) {
    await cluster.counter(direct).where({}, { deadlineMs: 20_000 });
  }
  for (const proxy of proxies) {
    proxy.mode = 'open';
    proxy.cutAll();
  }
  await more(200);
  const outcome = await load.stop();
  const { lost, unasked } = await lostAndUnasked(cluster, outcome);
  t.log(
    `${outcome.failed.length} failed of ${load.done}, slowest ${Math.round(outcome.slowestMs)} ms; lost ${lost}`,
  );
  t.is(lost, 0);
  t.is(unasked, 0);
  t.deepEqual(outcome.failed, []);
  t.deepEqual(
    cluster.workers.map((worker) => worker.viewNumber),
    before,
    'a link tells nothing of a lease',
  );
});
