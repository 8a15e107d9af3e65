// The preflight of a model before a call.
import test from 'ava';
import { limitsOf } from '../../../../src/kernel/plans/index.js';
import { startCalls } from '../../../support/servers/calls-rig.js';
import { insertTenant } from '../../../support/builders/callers.js';
import { databaseOfFile } from '../../../support/database/database.js';
import { noVendors } from '../../../support/builders/turns.js';

const database = databaseOfFile(test);

test('unknown models are refused, and known ones without a key or outside the tier', async (t) => {
  const vendors = { ...noVendors, openai: { apiKey: 'sk-test-0001', baseUrl: 'http://127.0.0.1:8/v1' } };
  const rig = await startCalls({ databaseUrl: database.url, vendors });
  database.atEnd(() => rig.close());
  const scope = await insertTenant(rig.store);
  const { preflight } = rig.calls;
  const limits = limitsOf('pro', { model_aliases: { fast: 'gpt-4.1-mini' } });
  for (const model of ['auto', 'openai.gpt-4.1', 'gpt-4.1', 'sim.echo', 'sim.lorem-5', 'fast'])
    t.true(preflight.isKnown(model, limits), model);
  for (const model of ['', 'gpt-99', 'nobody.knows', 'sim.nothing', 'openai.', 'slow']) {
    t.false(preflight.isKnown(model, limits), model);
  }
  const fault = (model: string, plan: 'free' | 'enterprise' = 'enterprise') =>
    preflight.faultOf(scope, limitsOf(plan, {}), model);
  t.is(await fault('openai.gpt-4.1'), undefined);
  t.is(await fault('sim.echo', 'free'), undefined);
  t.regex((await fault('openai.gpt-4.1', 'free')) ?? '', /which the plan free does not include/);
  t.regex((await fault('anthropic.claude-sonnet-4-5')) ?? '', /there is no key for its vendor/);
  t.regex((await fault('nobody.knows')) ?? '', /There is no model nobody\.knows/);
});
