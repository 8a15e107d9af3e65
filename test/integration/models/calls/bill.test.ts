// Calls of every outcome, by the thousand: the ledger equals the vendors' bill to the token. TROUPE_PROOF_CALLS=20000
// makes as many as the product promises; a run of the whole suite makes fewer.
import test from 'ava';
import { insertTenant } from '../../../support/builders/callers.js';
import { startCalls } from '../../../support/servers/calls-rig.js';
import { databaseOfFile } from '../../../support/database/database.js';
import {
  accessTo,
  type Ending,
  mixedCall,
  mixedCalls,
  startMixedVendors,
  stopMixedVendors,
} from '../../../support/builders/mixed-calls.js';
import { ownerView } from '../../../support/database/owner-view.js';

const database = databaseOfFile(test);
const count = Number(process.env['TROUPE_PROOF_CALLS'] ?? 2_000);

test(`${count} calls of mixed outcomes equal the vendors' bill to the token and are reported once each`, async (t) => {
  t.timeout(1_800_000);
  const vendors = await startMixedVendors();
  t.teardown(() => stopMixedVendors(vendors));
  const { openai, anthropic, xai } = vendors;
  const rig = await startCalls({
    databaseUrl: database.url,
    vendors: accessTo({ openai: openai.baseUrl, anthropic: anthropic.baseUrl, xai: xai.baseUrl }),
    report: (attempted, error) => t.fail(`${attempted}: ${String(error)}`),
  });
  t.teardown(() => rig.close());
  const scopes = [await insertTenant(rig.store), await insertTenant(rig.store)] as const;
  const endings = new Map<Ending, number>();
  await mixedCalls(count, 64, async (nth) => {
    const ending = await mixedCall(rig, scopes[nth % 2] ?? scopes[0], nth);
    endings.set(ending, (endings.get(ending) ?? 0) + 1);
  });
  for (const ending of ['answered', 'left', 'refused'] as const) {
    t.true((endings.get(ending) ?? 0) > count / 50, `${ending}: ${endings.get(ending)}`);
  }

  const owner = await ownerView(database.url);
  t.teardown(() => owner.end());
  const rows = await owner.query<{ vendor: string; attempts: number; input: number; output: number }>(
    `select vendor, count(*)::int as attempts, sum(input_tokens)::int as input, sum(output_tokens)::int as output
     from usage_rows where outcome is not null group by 1`,
  );
  for (const [vendor, server] of Object.entries(vendors)) {
    const booked = rows.rows.find((row) => row.vendor === vendor);
    t.deepEqual(
      { input: booked?.input, output: booked?.output, attempts: booked?.attempts },
      { ...server.billed, attempts: server.requests.length },
      vendor,
    );
  }
  const sums = await owner.query(
    `select (select sum(used)::int from quota_months) as counted,
       (select sum(input_tokens + output_tokens)::int from usage_rows) as booked,
       (select sum(input_tokens + output_tokens)::int from calls) as told,
       (select sum(input_tokens + output_tokens)::int from call_hours) as "inHours",
       (select count(*)::int from usage_rows where outcome is null) as open,
       (select count(*)::int from calls) as calls, (select sum(calls)::int from call_hours) as "callsInHours",
       (select sum(ledger_calls)::int from call_hours) as "ledgerCallsInHours",
       (select sum(ledger_cost) from call_hours) = (select sum(cost::numeric) from usage_rows) as "sameCost",
       (select sum(cost) from call_hours) = (select sum(cost::numeric) from calls) as "sameCostOfCalls",
       (select sum(cost) from call_hours) = (select sum(cost::numeric) from usage_rows) as "callsCostTheirAttempts",
       (select sum(cost::numeric) > 0 from usage_rows) as "costSomething"`,
  );
  const booked = rows.rows.reduce((sum, { input, output }) => sum + input + output, 0);
  t.deepEqual(sums.rows, [
    {
      counted: booked,
      booked,
      told: booked,
      inHours: booked,
      open: 0,
      calls: count,
      callsInHours: count,
      ledgerCallsInHours: count,
      sameCost: true,
      sameCostOfCalls: true,
      callsCostTheirAttempts: true,
      costSomething: true,
    },
  ]);
});
