// What stands for a model in the key of a cached answer, which outlives a restart with other names.
import test from 'ava';
import { answerKey } from '../../../../src/models/calls/response-cache.js';
import { limitsOf } from '../../../../src/kernel/plans/index.js';
import type { TenantScope } from '../../../../src/kernel/tenant-scope.js';
import { insertTenant } from '../../../support/builders/callers.js';
import { orderOf, startCalls } from '../../../support/servers/calls-rig.js';
import { databaseOfFile } from '../../../support/database/database.js';

const database = databaseOfFile(test);

test('a name stands for the model that it means, by aliases of the operator and of the tenant', async (t) => {
  /** The keys of these models on a node with an alias `fast`. */
  const keysOn = async (fast: string, models: readonly string[], given?: TenantScope) => {
    const rig = await startCalls({ databaseUrl: database.url, vendors: {}, aliases: { fast } });
    try {
      const scope = given ?? (await insertTenant(rig.store));
      const limits = { ...limitsOf('enterprise', {}), modelAliases: { ours: 'fast' } };
      const keys: string[] = [];
      for (const model of models) {
        const order = orderOf(scope, {}, { model, limits });
        keys.push(answerKey(order, await rig.calls.models.prepare(order)));
      }
      return { scope, keys };
    } finally {
      await rig.close();
    }
  };
  const { scope, keys } = await keysOn('sim.echo', ['fast', 'ours', 'sim.echo', 'echo', 'sim.lorem-5']);
  t.is(new Set(keys.slice(0, 4)).size, 1);
  const [fast, , , , lorem] = keys;
  t.not(fast, lorem);
  const later = await keysOn('sim.lorem-5', ['fast', 'ours', 'sim.echo'], scope);
  t.deepEqual(later.keys, [lorem, lorem, fast]);
});
