// Shares of those who wait for the same thing.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import pg from 'pg';
import { systemRandom, systemTime } from '../../../cluster/index.js';
import { FairLine, insertTarget, openBatchWriters, StoreError } from '../../../src/storage/index.js';
import { databaseOfFile } from '../../support/database.js';

const database = databaseOfFile(test);

test('those who stand in a line are taken in turn, each in its own order', (t) => {
  const line = new FairLine<string>();
  for (let index = 1; index <= 3_000; index += 1) line.push('hot', `hot ${index}`);
  for (const thing of ['ada 1', 'ada 2']) line.push('ada', thing);
  line.push('bob', 'bob 1');
  t.is(line.length, 3_003);
  t.is(line.lengthOf('hot'), 3_000);
  t.is(line.peek(), 'hot 1');
  const taken = Array.from({ length: 6 }, () => line.shift());
  t.deepEqual(taken, ['hot 1', 'ada 1', 'bob 1', 'hot 2', 'ada 2', 'hot 3']);
  t.deepEqual([...line].slice(0, 2), ['hot 4', 'hot 5']);
  for (let index = 4; index <= 3_000; index += 1) t.is(line.shift(), `hot ${index}`);
  t.is(line.shift(), undefined);
  t.is(line.length, 0);
  line.push('hot', 'again');
  t.is(line.shift(), 'again');
});

interface Row {
  readonly tenant_id: string;
  readonly id: string;
}

test('a tenant that brings fifty times its share delays no row of another by more than the batches on their way', async (t) => {
  const owner = new pg.Client({ connectionString: database.url });
  await owner.connect();
  t.teardown(() => owner.end());
  await owner.query(`create table accepted (tenant_id uuid, id uuid, at bigint generated always as identity,
      primary key (tenant_id, id));
    grant select, insert on accepted to troupe_writer`);
  const writers = openBatchWriters({ databaseUrl: database.url, time: systemTime, random: systemRandom });
  t.teardown(() => writers.close());
  const target = {
    ...insertTarget<Row>({
      table: 'accepted',
      columns: { tenant_id: 'uuid', id: 'uuid' },
      key: ['tenant_id', 'id'],
    }),
    shareOf: ({ tenant_id }: Row) => tenant_id,
  };
  const writer = writers.writer(target, { rowsMax: 20, depthMax: 3_000 });
  const hot = randomUUID();
  const calm = randomUUID();
  let written = 0;
  const write = async (tenant_id: string): Promise<void> => {
    await writer.write({ tenant_id, id: randomUUID() });
    written += 1;
  };
  const load = Array.from({ length: 1_500 }, () => write(hot));
  await t.throwsAsync(write(hot), { instanceOf: StoreError, message: /rows of one wait already/ });
  // Waiting is counted in rows that were written meanwhile, which no noise of the machine changes.
  const waits = await Promise.all(
    Array.from({ length: 30 }, async () => {
      const before = written;
      await write(calm);
      return written - before;
    }),
  );
  // Two batches of twenty may be on their way; in the others every second row is the calm one's.
  t.true(Math.max(...waits) <= 2 * 20 + 2 * 30 + 20, `waited for ${Math.max(...waits)} rows`);
  await Promise.all(load);
  t.is(written, 1_530);
});
