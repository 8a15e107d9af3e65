import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { systemTime } from '../../../../cluster/index.js';
import { openProcesses } from '../../../../src/models/usage/index.js';

const ids = { uuid: () => 'new' };

test('a member that is surely gone keeps its rows while it may finish, and no other process loses rows', async (t) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'troupe-processes-'));
  t.teardown(() => rm(dataDir, { recursive: true, force: true }));
  let aheadMs = 0;
  const dead = new Set(['two/1', 'edge/1']);
  const processes = await openProcesses(
    { time: { ...systemTime, monotonicMs: () => aheadMs }, ids },
    { dataDir, peers: { process: 'one/1', surelyGone: (id) => dead.has(id) } },
  );
  t.teardown(() => processes.leave());
  t.is(processes.processId, 'member-one/1');
  t.false(processes.isGone('member-two/1'));
  aheadMs += 29_000;
  t.false(processes.isGone('member-two/1'));
  aheadMs += 1_001;
  t.true(processes.isGone('member-two/1'));
  t.false(processes.isGone('member-three/1'), 'it lives');
  t.false(processes.isGone('alone-edge/1'), 'the cluster knows nothing of what is no member');
  const alone = await openProcesses({ time: systemTime, ids }, { dataDir, peers: undefined });
  t.teardown(() => alone.leave());
  t.is(alone.processId, 'alone-new');
  t.false(alone.isGone('member-two/1'));
});
