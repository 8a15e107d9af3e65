import test from 'ava';
import { eventually } from '../../support/clocks/eventually.js';
import { startTestNode } from '../../support/servers/node.js';
import { UpgradeLoad } from '../../upgrade/load.js';

test('A sender of the load that gives up is a failure of the load, and the load stops in order', async (t) => {
  const { client, bootstrap } = await startTestNode(t);
  const load = await UpgradeLoad.start({
    t,
    cluster: { nodes: [{ client }], bootstrap },
    // Nobody answers there.
    open: new Set([{ url: 'http://127.0.0.1:9' }]),
    talkers: 0,
    senders: 1,
    callers: 0,
    senderPatienceMs: 1,
  });
  await eventually(() => load.failures.length > 0, { what: 'the load tells that its sender gave up' });
  t.regex(String(load.failures[0]), /an acknowledgement of \S+: not within 1 ms/);
  await load.stop();
  t.is(load.failures.length, 1);
});
