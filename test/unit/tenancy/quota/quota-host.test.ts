// The quota of a tenant as it moves between nodes and as its owner is lost, on simulated nodes.
import test from 'ava';
import type { Kind } from '../../../../cluster/activation/kind.js';
import { GroupCommit } from '../../../../cluster/fencing/group-commit.js';
import { processId } from '../../../../cluster/ids/ids.js';
import type { ClusterNode } from '../../../../cluster/node/node.js';
import { MemoryFenceStore } from '../../../../cluster/simulation/fence-store.js';
import type { KeyCaller, TenantLimits } from '../../../../src/kernel/caller.js';
import { tenantScope } from '../../../../src/kernel/tenant-scope.js';
import { countOver, type Quota } from '../../../../src/tenancy/quota/index.js';
import { QuotaTables } from '../../../simulation/quota-tables.js';
import { SimulatedCluster, type SimulatedNode } from '../../../support/servers/simulated-cluster.js';

const scope = tenantScope('00000000-0000-4000-8000-000000000001');

const limits: TenantLimits = {
  plan: 'enterprise',
  requestsPerMinute: 1_000,
  requestsPerDay: 1_000,
  monthlyTokens: 100,
  keyRpmMax: 1_000,
};

const caller: KeyCaller = {
  kind: 'key',
  keyId: 'key-1',
  address: '127.0.0.1',
  scope,
  role: 'admin',
  limits,
  requestsPerMinute: 3,
  quotaLimit: null,
};

interface Counting extends SimulatedNode {
  readonly quota: Quota;
}

class QuotaCluster extends SimulatedCluster {
  readonly tables = new QuotaTables(() => this.time.monotonicMs(), { closesTwice: false });
  /** Whether the next answer of the store is lost after its commit. */
  losesAnswer = false;
  readonly store = new MemoryFenceStore(this.tables, this.time, {
    delayMs: () => 1,
    fault: () => {
      const fault = this.losesAnswer ? 'unknown_made' : 'none';
      this.losesAnswer = false;
      return fault;
    },
  });

  async count(name: string): Promise<Counting> {
    const host = this.host(name);
    const kinds: Kind[] = [];
    let node: ClusterNode | undefined;
    const started = (): ClusterNode => {
      if (node === undefined) throw new Error('the node has not started');
      return node;
    };
    const quota = countOver({
      rows: this.tables.client((step) => Promise.resolve().then(step)),
      time: host.time,
      dailyLimits: true,
      tenantsMax: 100,
      together: {
        actors: {
          register: (kind) => void kinds.push(kind),
          references: (kind) => (group, key) => started().actor(kind, group, key),
          process: processId(name),
          surelyGone: (process) => started().surelyGone(process),
          owns: (slot) => started().owns(slot),
        },
        commits: new GroupCommit(this.store, this.config, host.time, this.random),
      },
      report: () => undefined,
    });
    const added = await this.add(host, kinds);
    ({ node } = added);
    return { ...added, quota };
  }

  /** The tenant is counted by the first of two nodes; the second takes it over. */
  async two(): Promise<readonly [Counting, Counting]> {
    const [before, after] = [await this.count('n1'), await this.count('n2')];
    this.own(before);
    await this.time.advance(200);
    return [before, after];
  }

  own(owner: Counting): void {
    this.members.publish([owner.member.process]);
  }

  /** As a process that lost its lease, and of which everybody knows that it has stopped. */
  lose(owner: Counting): void {
    owner.membership.fence();
    this.members.declareGone(owner.member.process);
  }

  /** The code of the refusal, if the tokens of a call are refused. */
  async reserve({ quota }: Counting, attemptId: string): Promise<string | undefined> {
    const request = { attemptId, tokens: 40, withinMs: 600_000, limits, alreadyAdmitted: false };
    const reserving = Promise.resolve(quota.reserveTokens(scope, request));
    return (await this.settle(reserving))?.code;
  }

  async isAdmitted({ quota }: Counting): Promise<boolean> {
    const admitting = Promise.resolve(quota.admission.admitRequest(caller, 'request'));
    return (await this.settle(admitting)).refusal === undefined;
  }

  get held(): number {
    return this.tables.load({ tenantId: scope.tenantId }).held;
  }

  /** Of the only actor. */
  get epoch(): number {
    return [...this.store.rows.values()][0]?.epoch ?? 0;
  }

  get granted(): number {
    return [...this.tables.granted.values()].reduce((sum, count) => sum + count, 0);
  }
}

test('a quota that moves takes its windows along', async (t) => {
  const cluster = new QuotaCluster();
  const [before, after] = await cluster.two();
  for (let request = 0; request < 3; request += 1) t.true(await cluster.isAdmitted(before));
  t.false(await cluster.isAdmitted(before));
  cluster.own(after);
  await cluster.time.advance(1_000);
  t.false(await cluster.isAdmitted(after), 'the minute of the key goes on');
});

test('a hold stays as long as something is reserved under it', async (t) => {
  const cluster = new QuotaCluster();
  const [before, after] = await cluster.two();
  for (const id of ['a', 'b']) t.is(await cluster.reserve(before, id), undefined);
  t.true(cluster.held >= 80);
  cluster.own(after);
  await cluster.time.advance(1_000);
  t.true(cluster.held >= 80, 'a later owner needs the bound if this one is lost');
});

test('an owner that lost its lease gives no block back, and one that moves does', async (t) => {
  for (const isLost of [true, false]) {
    const cluster = new QuotaCluster();
    const [before, after] = await cluster.two();
    const admitting = Promise.resolve(before.quota.admitTenantWork(scope, limits));
    t.is((await cluster.settle(admitting)).refusal, undefined);
    t.true(cluster.granted > 1, 'a block of several');
    const block = cluster.granted;
    if (isLost) cluster.lose(before);
    else cluster.own(after);
    await cluster.time.advance(1_000);
    t.is(cluster.granted, isLost ? block : 1);
  }
});

test('open attempts replace the bound that a lost owner left', async (t) => {
  const cluster = new QuotaCluster();
  const [before, after] = await cluster.two();
  for (const id of ['a', 'b', 'c']) t.is(await cluster.reserve(before, id), undefined);
  t.true(cluster.held > limits.monthlyTokens);
  // Of the three only one has its row.
  const row = { attemptId: 'a', tenantId: scope.tenantId, process: 'n1', estimate: 40 };
  cluster.tables.open({ ...row, deadlineMs: cluster.time.monotonicMs() + 600_000 });
  cluster.lose(before);
  cluster.own(after);
  await cluster.time.advance(1_000);
  t.is(await cluster.reserve(after, 'd'), 'service_unavailable', 'the bound takes all that is left');
  await cluster.time.advance(35_000);
  t.is(await cluster.reserve(after, 'e'), undefined);
});

test('a node without the right to act counts nothing by itself', async (t) => {
  const cluster = new QuotaCluster();
  const [owner] = await cluster.two();
  t.true(await cluster.isAdmitted(owner));
  t.false(owner.quota.admission.admitRequest(caller, 'request') instanceof Promise);
  owner.membership.mayAct = () => false;
  const asked = owner.quota.admission.admitRequest(caller, 'request');
  t.true(asked instanceof Promise, 'it asks whoever may count');
  owner.membership.mayAct = () => true;
  t.is((await cluster.settle(Promise.resolve(asked))).refusal, undefined);
});

test('a block whose recording is unknown stays spent, and another activation takes the next', async (t) => {
  const cluster = new QuotaCluster();
  const [owner] = await cluster.two();
  t.true(await cluster.isAdmitted(owner));
  const before = cluster.epoch;
  cluster.losesAnswer = true;
  const admitting = Promise.resolve(owner.quota.admitTenantWork(scope, limits));
  await cluster.settle(admitting.catch(() => undefined));
  await cluster.time.advance(5_000);
  t.true(await cluster.isAdmitted(owner));
  t.true(cluster.epoch > before);
});
