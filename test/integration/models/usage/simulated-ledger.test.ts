// The rows of the ledger as the simulation holds them, against PostgreSQL: the same drawn batches, the same answers.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import { systemRandom, systemTime } from '../../../../cluster/index.js';
import { SeededRandom } from '../../../../cluster/simulation/virtual-time.js';
import { openBatchWriters, openStore } from '../../../../src/infra/storage/index.js';
import { ledgerRows, type OpenedRow } from '../../../../src/models/usage/index.js';
import {
  type ClosingRow,
  ledgerTarget,
  nothingRecorded,
  orphanTarget,
} from '../../../../src/models/usage/usage.store.js';
import { UsageTables } from '../../../simulation/conversations/usage-tables.js';
import { insertTenant } from '../../../support/builders/callers.js';
import { databaseOfFile } from '../../../support/database/database.js';
import { ownerView } from '../../../support/database/owner-view.js';
import { closed, opened } from '../../../support/database/usage-rows.js';

const database = databaseOfFile(test);
const processes = ['one process', 'another process', 'a third process'] as const;

test('drawn batches of the ledger leave the same rows and sums in PostgreSQL and in the simulated store', async (t) => {
  const { url: databaseUrl } = database;
  const store = await openStore({ databaseUrl });
  const writers = openBatchWriters({ databaseUrl, time: systemTime, random: systemRandom });
  const view = await ownerView(databaseUrl);
  t.teardown(async () => {
    await writers.close();
    await store.close();
    await view.end();
  });
  const real = ledgerRows(store);
  const twin = new UsageTables(() => Date.now());
  const [rows, orphans] = [writers.writer(ledgerTarget), writers.writer(orphanTarget)];
  const tenants = [await insertTenant(store), await insertTenant(store)].map(({ tenantId }) => tenantId);
  const random = new SeededRandom(20_261_124);
  const now = new Date();
  await real.preparePartitions(now);
  const attempts = Array.from({ length: 40 }, () => drawOpening());
  let missing = 0;
  for (let step = 0; step < 80; step += 1) {
    const batch = attempts
      .filter(() => random.chance(0.12))
      .map((row) => (random.chance(0.5) ? row : drawClosing(row)));
    // Rows that are written in one turn of the loop are one statement.
    const answers = await Promise.all(batch.map((row) => rows.write(row)));
    t.deepEqual(twin.record(batch), answers, `step ${step}`);
    missing += answers.filter((answer) => answer === 'missing').length;
    if (step % 5 === 4) await sameOrphans(step);
    for (const row of attempts.filter(() => random.chance(0.03))) {
      await real.remove(row);
      twin.remove(row);
    }
    await sameOwners(attempts[step % attempts.length]);
    await sameRows(step);
  }
  t.true(missing > 10, 'rows were closed that were closed already, or not there');

  function drawOpening(): OpenedRow {
    return opened(random.pick(tenants), {
      process_id: random.pick(processes),
      payer: random.pick(['platform', 'platform', 'tenant'] as const),
      month: random.pick(['2026-10-01', '2026-11-01']),
      opened_at: new Date(now.getTime() - random.between(0, 3) * 3_600_000).toISOString(),
      deadline_at: random.pick(['2020-01-01T00:00:00Z', '2999-01-01T00:00:00Z']),
      input_estimate: random.between(0, 90),
      output_estimate: random.between(0, 9),
      cost_estimate: random.between(0, 9) / 1_000,
    });
  }

  function drawClosing(row: OpenedRow): ClosingRow {
    const isStranger = random.chance(0.1);
    return {
      ...closed(row, {
        outcome: random.pick(['completed', 'failed', 'timeout', 'cancelled'] as const),
        input_tokens: random.between(0, 90),
        output_tokens: random.between(0, 9),
        cost: random.between(0, 9) / 1_000,
        ...(isStranger ? { attempt_id: randomUUID() } : {}),
      }),
      ...nothingRecorded,
    };
  }

  async function sameOrphans(step: number): Promise<void> {
    const gone = processes.filter(() => random.chance(0.3));
    const byId = (found: readonly { readonly attempt_id: string }[]): readonly string[] =>
      found.map(({ attempt_id: id }) => id).toSorted();
    const found = await real.orphans(gone, 1_000);
    t.deepEqual(byId(twin.orphans(gone, 1_000)), byId(found), `orphans of step ${step}`);
    t.deepEqual(
      [...new Set(twin.openRows().map((row) => row.opened.process_id))].toSorted(),
      (await real.processes()).toSorted(),
      `processes of step ${step}`,
    );
    const some = found.filter(() => random.chance(0.5));
    // Closed twice: once by each of two nodes.
    await Promise.all([...some, ...some].map((orphan) => orphans.write(orphan)));
    twin.closeOrphans([...some, ...some]);
  }

  async function sameOwners(row: OpenedRow | undefined): Promise<void> {
    if (row === undefined) return;
    const other = { ...row, opened_at: new Date(Date.parse(row.opened_at) + 1).toISOString() };
    for (const one of [row, other]) t.is(await real.isOfAnother(one), twin.isOfAnother(one), one.attempt_id);
  }

  async function sameRows(step: number): Promise<void> {
    const { rows: stored } = await view.query(
      `select attempt_id::text as id, outcome, coalesce(input_tokens, 0)::int as input,
        coalesce(output_tokens, 0)::int as output, round(coalesce(cost, 0)::numeric * 1000000000)::int as nanos
       from usage_rows where tenant_id = any($1) order by attempt_id::text`,
      [tenants],
    );
    const simulated = [...twin.rows.values()]
      .map(({ opened: { attempt_id: id }, outcome = null, input, output, nanos }) => ({
        id,
        outcome,
        input,
        output,
        nanos,
      }))
      .toSorted((one, other) => (one.id < other.id ? -1 : 1));
    t.deepEqual(simulated, stored, `rows of step ${step}`);
    const { rows: months } = await view.query<{ name: string; used: number }>(
      `select tenant_id || ' ' || to_char(month, 'YYYY-MM') as name, used::int from quota_months where tenant_id = any($1)`,
      [tenants],
    );
    t.deepEqual(
      Object.fromEntries(twin.months),
      Object.fromEntries(months.map(({ name, used }) => [name, used])),
    );
    const { rows: days } = await view.query<{ name: string; nanos: number }>(
      `select tenant_id || ' ' || to_char(day, 'YYYY-MM-DD') as name, sum(nanos)::int as nanos
       from spent_costs where tenant_id = any($1) group by 1`,
      [tenants],
    );
    t.deepEqual(
      Object.fromEntries(twin.days),
      Object.fromEntries(days.map(({ name, nanos }) => [name, nanos])),
    );
  }
});
