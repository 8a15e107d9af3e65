// Fair shares between tenants that wait for the same resource.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import pg from 'pg';
import { systemRandom, systemTime } from '../../../../cluster/index.js';
import { insertTarget, openBatchWriters, StoreError } from '../../../../src/infra/storage/index.js';
import { databaseOfFile } from '../../../support/database/database.js';
import { countSentRows } from '../../../support/database/sent-rows.js';

const database = databaseOfFile(test);

interface Row {
  readonly tenant_id: string;
  readonly id: string;
}

test("a tenant with fifty times its share delays another's row by at most the batches in flight", async (t) => {
  const owner = new pg.Client({ connectionString: database.url });
  await owner.connect();
  t.teardown(() => owner.end());
  await owner.query(`create table accepted (tenant_id uuid, id uuid, at bigint generated always as identity,
      primary key (tenant_id, id));
    grant select, insert on accepted to troupe_writer`);
  const writers = openBatchWriters({ databaseUrl: database.url, time: systemTime, random: systemRandom });
  t.teardown(() => writers.close());
  const inserts = insertTarget<Row>({
    table: 'accepted',
    columns: { tenant_id: 'uuid', id: 'uuid' },
    key: ['tenant_id', 'id'],
  });
  const sent = countSentRows({ ...inserts, shareOf: ({ tenant_id }: Row) => tenant_id });
  // 75 commits: on a busy machine they take longer than one row may wait.
  const writer = writers.writer(sent.target, { rowsMax: 20, depthMax: 3_000, deadlineMs: 120_000 });
  const hot = randomUUID();
  const calm = randomUUID();
  const row = (tenant_id: string): Row => ({ tenant_id, id: randomUUID() });
  const load = Array.from({ length: 1_500 }, () => writer.write(row(hot)));
  await t.throwsAsync(writer.write(row(hot)), {
    instanceOf: StoreError,
    message: /rows of one owner are already waiting/,
  });
  const calmRows = Array.from({ length: 30 }, () => row(calm));
  await Promise.all(calmRows.map((each) => writer.write(each)));
  const longest = Math.max(...calmRows.map((each) => sent.before(each)));
  // Every second row is the calm one's, and the last may go with a batch of twenty.
  t.true(longest <= 2 * 30 + 20, `waited for ${longest} rows`);
  await Promise.all(load);
  t.is(sent.count(), 1_530);
});
