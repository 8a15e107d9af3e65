// Which errors stay in the database: the newest of all, the newest of each tenant, and none that is older than a week.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import { systemIds } from '../../../../src/infra/platform/index.js';
import { ErrorRecords, forgetErrorsOf } from '../../../../src/infra/diagnostics/index.js';
import { openStore } from '../../../../src/infra/storage/index.js';
import { createDatabase } from '../../../support/database/database.js';

const dayMs = 86_400_000;
const [quiet, noisy] = [randomUUID(), randomUUID()];

test('an error that quotes half a character or NUL holds up no other', async (t) => {
  const store = await openStore({ databaseUrl: (await createDatabase(t)).url });
  t.teardown(() => store.close());
  const time = { wallMs: () => Date.now(), after: () => ({ cancel() {} }) };
  const report = (attempted: string, error: unknown): void => t.fail(`${attempted}: ${String(error)}`);
  const records = new ErrorRecords({ store, time, ids: systemIds, node: 'node', report });
  for (const message of ['not 😀'.slice(0, 5), 'a\0b', 'fine']) {
    const error = { id: randomUUID(), error: 'not_found', message, timestamp: new Date().toISOString() };
    records.note({ ...error, requestId: 'r', operation: 'agents.get', tenant: quiet });
  }
  const listed = await records.listOf(quiet, { after: undefined, limit: 10 });
  t.deepEqual(listed.map(({ message }) => message).toSorted(), ['ab', 'fine', 'not \uFFFD']);
});

test('a noisy tenant pushes out nobody else, a week ends all, and a deleted tenant has none', async (t) => {
  const store = await openStore({ databaseUrl: (await createDatabase(t)).url });
  t.teardown(() => store.close());
  let nowMs = Date.UTC(2026, 0, 1);
  const time = { wallMs: () => nowMs, after: () => ({ cancel() {} }) };
  const report = (attempted: string, error: unknown): void => t.fail(`${attempted}: ${String(error)}`);
  const records = new ErrorRecords({ store, time, ids: systemIds, node: 'node', report });
  // `list` writes what was noted before.
  const note = async (tenant: string | undefined, times: number): Promise<void> => {
    for (let index = 0; index < times; index += 1) {
      nowMs += 1;
      const timestamp = new Date(nowMs).toISOString();
      const error = { id: randomUUID(), error: 'not_found', message: 'Not found.', timestamp };
      records.note({ ...error, requestId: 'r', operation: 'agents.get', tenant });
      if (index % 500 === 499) await records.list(1);
    }
    await records.list(1);
  };
  const countOf = async (tenant: string): Promise<number> =>
    (await records.listOf(tenant, { after: undefined, limit: 5_000 })).length;

  await note(quiet, 3);
  await note(undefined, 3);
  await note(noisy, 2_600);
  t.is(await countOf(quiet), 3, 'they are older than the newest 2,000');
  t.is(await countOf(noisy), 2_000);
  t.is(
    (await records.list(5_000)).filter(({ tenant }) => tenant === null).length,
    0,
    'those of no tenant go',
  );
  await note(undefined, 2_000);
  await note(noisy, 1);
  t.is(await countOf(noisy), 500, 'beyond the newest of all a tenant keeps 500');
  t.is(await countOf(quiet), 3);

  nowMs += 7 * dayMs;
  await note(quiet, 1);
  t.deepEqual([await countOf(quiet), await countOf(noisy)], [1, 0]);
  await forgetErrorsOf(store, quiet);
  t.is(await countOf(quiet), 0);
});
