// Rolls three loaded nodes of the last release to this tree, one after the other, and back (scripts/upgrade.mjs). Ends with 1
// if a turn failed, a webhook was not called back once and in order, or the ledger differs from the calls.
import assert from 'node:assert/strict';
import { createEmptyDatabase } from '../support/database/database.js';
import { eventually } from '../support/clocks/eventually.js';
import { ownerView } from '../support/database/owner-view.js';
import { type NodeProcess, type NodeProcesses, startNodes } from '../support/servers/nodes.js';
import { runProgram } from '../support/servers/program.js';
import { version } from '../../src/kernel/config/index.js';
import { distinct, type LoadOutcome, UpgradeLoad } from './load.js';

/** The documented stop time of supervisors. */
const patienceMs = 30_000;

const endings: (() => Promise<void>)[] = [];
const t = { teardown: (work: () => Promise<void>): void => void endings.unshift(work) };
const startedMs = performance.now();

function say(text: string): void {
  process.stdout.write(`${((performance.now() - startedMs) / 1_000).toFixed(1).padStart(6)} s  ${text}\n`);
}

async function replace(
  cluster: NodeProcesses,
  open: Set<NodeProcess>,
  node: NodeProcess,
  tree: string,
): Promise<NodeProcess> {
  open.delete(node);
  const sinceMs = performance.now();
  const code = await node.stop();
  const tookMs = Math.round(performance.now() - sinceMs);
  assert.equal(code, 0, `${node.name} did not drain: ${node.program.output().slice(-3_000)}`);
  assert.ok(tookMs <= patienceMs, `a supervisor would have killed ${node.name}: ${tookMs} ms`);
  const added = await cluster.add({}, tree);
  await cluster.awaitMembers(added, 3);
  open.add(added);
  say(`${node.name} drained in ${tookMs} ms; ${added.name} serves in its place`);
  return added;
}

/** Each node answers, and nodes of this version state it. */
async function expectVersions(cluster: NodeProcesses, asked: NodeProcess, expected: readonly string[]) {
  const { nodes, versions } = await cluster.cluster(asked);
  assert.ok(
    nodes.every(({ standing }: { readonly standing: string }) => standing === 'member'),
    JSON.stringify(nodes),
  );
  assert.deepEqual(versions, expected);
}

/** The doctor of this tree tells an operator how far the upgrade is. */
async function expectDoctor({ databaseUrl, redisUrl, dataDir }: NodeProcesses, expected: string) {
  const environment = { DATABASE_URL: databaseUrl, REDIS_URL: redisUrl, TROUPE_DATA_DIR: dataDir };
  let found = '';
  const isTold = async (): Promise<boolean> => {
    const program = runProgram('dist/test/support/servers/node-program.js', ['doctor'], environment);
    await program.ended;
    found = /^ +\S+ +nodes: .*/m.exec(program.output())?.[0] ?? program.output();
    return found.includes(expected);
  };
  await eventually(isTold, { timeoutMs: 30_000, what: `the doctor tells: ${expected}` }).catch(
    (error: unknown) => {
      throw new Error(`the doctor tells: ${found}`, { cause: error });
    },
  );
}

function checkTurns({ turns, refused, moved }: LoadOutcome): void {
  const failed = turns
    .filter(({ outcomes }) => outcomes.join() !== 'COMPLETED')
    .map(({ executionId, cuts, events }) =>
      [
        `${executionId}, read at ${cuts + 1} places:`,
        ...events.slice(-4).map(({ data }) => JSON.stringify(data)),
      ].join(' '),
    );
  assert.deepEqual(failed, [], 'a turn failed');
  for (const { text, response, executionId } of turns) assert.equal(text, response, executionId);
  const cut = turns.filter(({ cuts }) => cuts > 0).length;
  say(
    `${turns.length} turns, none failed; ${cut} read at several nodes, ${moved} moved in their midst, ` +
      `${refused} requests refused as overload`,
  );
}

function checkCallbacks({ acknowledged, callbacks }: LoadOutcome): void {
  const heard = distinct(callbacks);
  const arrived = new Map<string, string[]>();
  for (const { body } of heard) {
    // The answer of sim.echo holds the message, which is an id of its own.
    for (const [user, ids] of acknowledged) {
      const id = ids.find((one) => body.includes(one));
      if (id !== undefined) arrived.set(user, [...(arrived.get(user) ?? []), id]);
    }
  }
  for (const [user, ids] of acknowledged) {
    assert.deepEqual(arrived.get(user), ids, `${user}: each webhook is called back once, in order`);
  }
  const sent = [...acknowledged.values()].reduce((sum, { length }) => sum + length, 0);
  assert.equal(heard.length, sent);
  say(
    `${sent} webhooks, each called back once and in order; ${callbacks.length - sent} repeats with the same key`,
  );
}

async function checkLedger(databaseUrl: string, { calls }: LoadOutcome): Promise<void> {
  const owner = await ownerView(databaseUrl);
  try {
    const open = async (): Promise<number> => {
      const { rows } = await owner.query<{ open: number }>(
        'select count(*)::int as open from usage_rows where outcome is null',
      );
      return rows[0]?.open ?? 0;
    };
    await eventually(async () => (await open()) === 0, { timeoutMs: 20_000, what: 'the ledger is closed' });
    const { rows } = await owner.query<{ call: string; attempts: number }>(
      `select c.input_preview as call, count(u.attempt_id)::int as attempts from calls c
       left join usage_rows u on u.tenant_id = c.tenant_id and u.call_id = c.call_id and u.outcome = 'completed'
       where c.input_preview like 'native %' group by c.call_id, c.input_preview`,
    );
    assert.deepEqual(rows.map(({ call }) => call).toSorted(), calls.toSorted(), 'a row for each call');
    assert.ok(
      rows.every(({ attempts }) => attempts === 1),
      'one attempt for each call',
    );
    const { rows: sums } = await owner.query<{ booked: number; used: number }>(
      `select (select sum(input_tokens + output_tokens)::int from usage_rows) as booked,
              (select sum(used)::int from quota_months) as used`,
    );
    assert.equal(sums[0]?.used, sums[0]?.booked, 'the month is the sum of the ledger');
    say(
      `${calls.length} model calls, ${rows.length} in the ledger; ${sums[0]?.booked} tokens booked and counted`,
    );
  } finally {
    await owner.end();
  }
}

async function main(): Promise<void> {
  const released = process.env['TROUPE_RELEASED_TREE'] ?? '';
  const release = process.env['TROUPE_RELEASED_VERSION'] ?? '';
  const database = await createEmptyDatabase(t);
  // The nodes of both versions as they are delivered: they judge each other's leases.
  const cluster = await startNodes(t, { databaseUrl: database.url, tree: released, parts: {} });
  const open = new Set(cluster.nodes);
  say(`three nodes of ${release === '' ? 'this tree' : release} serve`);
  const load = await UpgradeLoad.start({ t, cluster, open, talkers: 12, senders: 4, callers: 2 });
  await eventually(() => load.begun >= 12, { timeoutMs: 60_000, what: 'all talkers have begun' });

  // Versions before 0.2 do not state theirs.
  const former = release === '' ? version : release.startsWith('0.1.') ? '0.1' : release;
  const both = [...new Set([former, version])].toSorted();
  let old = [...cluster.nodes];
  const fresh: NodeProcess[] = [];
  for (const node of old) {
    if (fresh.length === 1) await load.beginLongTurns();
    const added = await replace(cluster, open, node, process.cwd());
    fresh.push(added);
    assert.deepEqual(load.failures, []);
    if (fresh.length < old.length) await expectVersions(cluster, added, both);
    if (fresh.length === 1 && both.length === 2) {
      await expectDoctor(cluster, `2 of version ${former}, 1 of version ${version}`);
    }
  }
  const [newest] = fresh;
  if (newest === undefined) throw new Error('there is no node');
  await expectVersions(cluster, newest, [version]);
  await load.longTurnsEnd();
  say(`all nodes run ${version}; now back`);
  old = [];
  for (const node of fresh) {
    if (old.length === 1) await load.beginLongTurns();
    old.push(await replace(cluster, open, node, released));
    assert.deepEqual(load.failures, []);
  }
  say('all nodes are back');

  const outcome = await load.stop();
  assert.deepEqual(load.failures, []);
  checkTurns(outcome);
  checkCallbacks(outcome);
  await checkLedger(database.url, outcome);
}

try {
  await main();
  say('the upgrade and the way back failed nothing');
} catch (error) {
  process.stderr.write(
    `upgrade: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
  );
  process.exitCode = 1;
} finally {
  for (const end of endings)
    await end().catch((error: unknown) => process.stderr.write(`${String(error)}\n`));
}
process.exit();
