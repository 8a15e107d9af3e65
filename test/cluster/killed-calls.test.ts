// A process that is killed during its calls: its completed rows equal the vendors' bill, its open ones are marked as
// estimated, and the month equals the sum of the rows.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { logTo } from '../support/builders/platform.js';
import { systemRandom, systemTime } from '../../cluster/index.js';
import { openBatchWriters, openStore } from '../../src/infra/storage/index.js';
import { Ledger, ledgerRows } from '../../src/models/usage/index.js';
import type { CallingOrder } from '../support/servers/calling-process.js';
import { insertTenant } from '../support/builders/callers.js';
import { databaseOfFile } from '../support/database/database.js';
import { eventually } from '../support/clocks/eventually.js';
import { promptOfRequest, startMixedVendors, stopMixedVendors } from '../support/builders/mixed-calls.js';
import { ownerView } from '../support/database/owner-view.js';

const database = databaseOfFile(test);
const program = fileURLToPath(new URL('../support/servers/calling-process.js', import.meta.url));
const killAfter = 250;
/** The name under which PostgreSQL knows the connections of the process that is killed. */
const application = 'killed_calls';

test('the ledger records every attempt of a process killed during calls, exactly or as an estimate', async (t) => {
  t.timeout(120_000);
  const vendors = await startMixedVendors();
  t.teardown(() => stopMixedVendors(vendors));
  const store = await openStore({ databaseUrl: database.url });
  const writers = openBatchWriters({ databaseUrl: database.url, time: systemTime, random: systemRandom });
  const owner = await ownerView(database.url);
  t.teardown(async () => {
    await owner.end();
    await writers.close();
    await store.close();
  });
  const { tenantId } = await insertTenant(store);

  const child = fork(program, [], { stdio: 'inherit' });
  t.teardown(() => void child.kill('SIGKILL'));
  const begun = new Promise<void>((resolve) => {
    child.on('message', (nth) => {
      if (nth === killAfter) resolve();
    });
  });
  const url = new URL(database.url);
  url.searchParams.set('application_name', application);
  child.send({
    databaseUrl: url.href,
    baseUrls: {
      openai: vendors.openai.baseUrl,
      anthropic: vendors.anthropic.baseUrl,
      xai: vendors.xai.baseUrl,
    },
    tenantId,
    processId: 'the one that is killed',
    count: 100_000,
  } satisfies CallingOrder);
  await begun;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;

  // Statements sent on its connections may still be committed after its death, until these have ended.
  await eventually(async () => {
    const left = await owner.query(
      'select from pg_stat_activity where datname = current_database() and application_name = $1',
      [application],
    );
    return left.rowCount === 0;
  });
  const report = (what: string, error: unknown): void => t.fail(`${what}: ${String(error)}`);
  const isGone = (id: string): boolean => id === 'the one that is killed';
  const ledger = new Ledger(
    { writers, rows: ledgerRows(store), time: systemTime, log: logTo(report) },
    { isGone },
  );
  await ledger.sweep();

  // A call of several attempts may be recorded while its last attempt is still open: each has its own commit. That attempt
  // is then an estimate.
  const { rows: calls } = await owner.query<{ prompt: string; attempts: number; tokens: number }>(
    `select c.input_preview as prompt, count(*)::int as attempts, sum(u.input_tokens + u.output_tokens)::int as tokens
     from calls c join usage_rows u on u.tenant_id = c.tenant_id and u.call_id = c.call_id
     where c.failure is distinct from 'orphaned' group by c.call_id, c.input_preview
     having not bool_or(u.outcome = 'orphaned')`,
  );
  t.true(calls.length > killAfter / 2, `${calls.length} calls had ended`);
  const requests = Object.values(vendors).flatMap((server) => server.requests);
  for (const { prompt, attempts, tokens } of calls) {
    const billed = requests.filter((seen) => promptOfRequest(seen) === prompt);
    t.is(billed.length, attempts, prompt);
    t.is(
      billed.reduce((sum, { billed: { input, output } }) => sum + input + output, 0),
      tokens,
      prompt,
    );
  }

  const { rows: left } = await owner.query<{
    orphans: number;
    open: number;
    attempts: number;
    booked: number;
  }>(
    `select count(*) filter (where outcome = 'orphaned' and usage_source = 'estimated')::int as orphans,
       count(*) filter (where outcome is null)::int as open, count(*)::int as attempts,
       sum(input_tokens + output_tokens)::int as booked from usage_rows`,
  );
  const [books] = left;
  t.is(books?.open, 0);
  t.true((books?.orphans ?? 0) > 0 && (books?.orphans ?? 0) <= 32, `${books?.orphans} were under way`);
  t.true((books?.attempts ?? 0) >= requests.length, 'no vendor was asked without a row');
  const { rows: months } = await owner.query('select sum(used)::int as used from quota_months');
  t.deepEqual(months, [{ used: books?.booked }]);
});
