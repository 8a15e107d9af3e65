// A rolling upgrade: quotas are asked by nodes of an earlier and of a later version, and the other way round, over real links.
import { randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { systemTime } from '../../../../cluster/index.js';
import { QuotaServiceDefinition } from '../../../../generated/troupe/actors/v1/quota.js';
import { openStore, type Store } from '../../../../src/infra/storage/index.js';
import type { TenantScope } from '../../../../src/kernel/tenant-scope.js';
import { limitsOf } from '../../../../src/kernel/plans/index.js';
import { openAttempts } from '../../../../src/models/usage/index.js';
import { appliedBudget, countOver, type Quota } from '../../../../src/tenancy/quota/index.js';
import { quotaTables } from '../../../../src/tenancy/quota/quota-actor.store.js';
import { postgresRows } from '../../../../src/tenancy/quota/quota-rows.store.js';
import { insertTenant, keyOf } from '../../../support/builders/callers.js';
import { earlierVersion, laterVersion, type WireVersion } from '../../../support/builders/wire-versions.js';
import { eventually } from '../../../support/clocks/eventually.js';
import { databaseOfFile } from '../../../support/database/database.js';
import { LinkedNode, linkNodes } from '../../../support/servers/linked-nodes.js';

const database = databaseOfFile(test);
let store: Store;

test.serial.before('a store', async () => {
  store = await openStore({ databaseUrl: database.url });
  database.atEnd(() => store.close());
});

/** Optional fields, as if the version after the first had added them. */
const newFields = ['ReserveRequest.already_admitted', 'HandOverRequest.knows_all'].map(
  (name) => `troupe.actors.v1.${name}`,
);

interface Versions {
  readonly caller?: WireVersion;
  readonly owner?: WireVersion;
}

/** A tenant that another node counts than the one that asks. */
async function startQuota(t: ExecutionContext, versions: Versions) {
  const caller = new LinkedNode('caller', database.url, versions.caller);
  const owner = new LinkedNode('owner', database.url, versions.owner);
  const failures: unknown[] = [];
  const [quota] = [caller, owner].map((node): Quota => {
    const quotaOfNode = countOver({
      rows: postgresRows(store, (of) => openAttempts(store, of)),
      time: systemTime,
      dailyLimits: true,
      report: (attempted, error) => failures.push(attempted, error),
      together: { actors: node, commits: node.commits(quotaTables) },
    });
    t.teardown(() => quotaOfNode.stop());
    return quotaOfNode;
  });
  if (quota === undefined) throw new Error('there is a quota');
  const members = await linkNodes(t, [caller, owner]);
  let scope = await insertTenant(store);
  while (!ownsQuota(owner, scope)) scope = await insertTenant(store);
  return {
    quota,
    scope,
    failures,
    async ownerLeaves() {
      members.publish([caller.process]);
      await eventually(() => ownsQuota(caller, scope), { what: 'the tenant moves' });
    },
  };
}

function ownsQuota(node: LinkedNode, { tenantId }: TenantScope): boolean {
  return node.ownsActor(QuotaServiceDefinition.fullName, tenantId, 'quota');
}

async function askEverything(t: ExecutionContext, versions: Versions): Promise<void> {
  const { quota, scope, failures, ownerLeaves } = await startQuota(t, versions);
  const key = keyOf(scope, { requestsPerMinute: 10, quotaLimit: 2 });
  const first = await quota.admission.admitRequest(key, 'model-work');
  t.like(first.figures, { limit: 10, remaining: 9 });
  t.is(first.refusal, undefined);
  t.is(first.ahead?.admitted.refusal, undefined);
  first.ahead?.refund();
  await quota.flush();
  for (let granted = 0; granted < 2; granted += 1) {
    const admitted = await quota.admitTenantWork(scope, key.limits, key);
    t.is(admitted.refusal, undefined, 'the work that was taken back counts nowhere');
  }
  const usedUp = await quota.admitTenantWork(scope, key.limits, key);
  t.is(usedUp.refusal?.code, 'quota_exceeded');
  t.deepEqual(usedUp.refusal?.details, { limit: 2, used: 2, reset_date: null });

  const slow = keyOf(scope, { requestsPerMinute: 1 });
  await quota.admission.admitRequest(slow, 'request');
  const full = await quota.admission.admitRequest(slow, 'request');
  t.is(full.refusal?.code, 'rate_limit_exceeded');
  t.like(full.refusal?.details, { limit: 1, remaining: 0 });
  t.true((full.refusal?.retryAfterSeconds ?? 0) > 50);

  const attempt = { attemptId: randomUUID(), tokens: 10, withinMs: 60_000, alreadyAdmitted: false };
  const limits = { ...limitsOf('enterprise', {}), monthlyTokens: 50 };
  t.is(await quota.reserveTokens(scope, { ...attempt, limits }), undefined);
  quota.settleTokens(scope, { attemptId: attempt.attemptId, reserved: 10, tokens: 10 });
  await quota.flush();
  await store.inTenant(scope, (tx) => quota.addTokens(tx, new Date(), 50));
  const isRefused = async (): Promise<boolean> => {
    const attemptId = randomUUID();
    const refusal = await quota.reserveTokens(scope, { ...attempt, attemptId, limits });
    if (refusal === undefined) quota.settleTokens(scope, { attemptId, reserved: 10, tokens: 0 });
    return refusal?.code === 'quota_exceeded';
  };
  // The owner may have read the month's tokens within the last second.
  await eventually(isRefused, { what: 'the month is used up', everyMs: 100 });

  const budgets = [appliedBudget('tenant', scope.tenantId, { usd: 1, period: 'day' })];
  const cost = { nanos: 10, withinMs: 60_000, keyId: null, agentId: null, budgets, alreadyAdmitted: false };
  const costly = { ...cost, attemptId: randomUUID() };
  t.like(await quota.reserveCost(scope, costly), { outcome: 'reserved' });
  quota.settleCost(scope, { ...costly, day: '2026-11-21' });
  await quota.flush();

  const moving = keyOf(scope, { requestsPerMinute: 10 });
  for (let asked = 0; asked < 3; asked += 1) await quota.admission.admitRequest(moving, 'request');
  await ownerLeaves();
  const [version] = [versions.caller, versions.owner].flatMap((one) => one ?? []);
  await eventually(() => version?.used.has('troupe.actors.v1.HandOverResponse'), {
    what: 'the figures are handed over',
  });
  const { figures } = await quota.admission.admitRequest(moving, 'request');
  t.is(figures.remaining, 6, 'the next owner continues with the figures of the one before');
  await quota.flush();
  t.deepEqual(failures, []);
  const missing = Object.values(QuotaServiceDefinition.methods).filter(
    ({ name }) =>
      version?.used.has(`troupe.actors.v1.${name}Request`) !== true ||
      !version.used.has(`troupe.actors.v1.${name}Response`),
  );
  t.deepEqual(missing, []);
}

test('a node of an earlier version asks a quota of this one', (t) =>
  askEverything(t, { caller: earlierVersion(newFields) }));

test('this version asks a quota of an earlier one', (t) =>
  askEverything(t, { owner: earlierVersion(newFields) }));

test('a node of a later version asks a quota of this one', (t) =>
  askEverything(t, { caller: laterVersion() }));

test('this version asks a quota of a later one', (t) => askEverything(t, { owner: laterVersion() }));
