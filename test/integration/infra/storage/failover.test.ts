// The address of the database leads for a moment to a standby, which answers reads without the last commits.
import test, { type ExecutionContext } from 'ava';
import pg from 'pg';
import { z } from 'zod';
import { systemRandom, systemTime } from '../../../../cluster/index.js';
import {
  insertTarget,
  openBatchWriters,
  openHotReads,
  openStore,
  sql,
  StoreError,
} from '../../../../src/infra/storage/index.js';
import { createDatabase } from '../../../support/database/database.js';
import { ChangingServer } from '../../../support/database/standby.js';

/** A database that answers as a standby. `promote` ends that. */
async function standby(t: ExecutionContext): Promise<{ url: string; promote(): Promise<void> }> {
  const database = await createDatabase(t);
  const owner = new pg.Client({ connectionString: database.url });
  await owner.connect();
  await owner.query(
    `create table words (word text primary key); grant select, insert on words to troupe_writer`,
  );
  await owner.end();
  const server = await ChangingServer.of(database);
  t.teardown(() => server.close());
  await server.becomes('standby');
  return { url: database.url, promote: () => server.becomes('primary') };
}

/** What a caller may repeat, with a message that says where the address leads. */
async function isRefused(t: ExecutionContext, work: Promise<unknown>): Promise<void> {
  const error = await t.throwsAsync(work, { instanceOf: StoreError, message: /leads to a standby/ });
  t.like(error, { failure: 'unavailable', retryable: true });
}

const users = { name: 'users', text: 'select id from users', row: z.object({ id: z.string() }) };

test('a hot read refuses a standby and reads from the primary afterwards', async (t) => {
  const { url, promote } = await standby(t);
  const hot = openHotReads({ databaseUrl: url, time: systemTime, connectionsMax: 1 });
  t.teardown(() => hot.close());
  await isRefused(t, hot.directory(users, []));
  await promote();
  t.deepEqual(await hot.directory(users, []), []);
});

test('a transaction refuses a standby and runs at the primary afterwards', async (t) => {
  const { url, promote } = await standby(t);
  const store = await openStore({ databaseUrl: url, directoryConnectionsMax: 1 });
  t.teardown(() => store.close());
  const read = () => store.directory((tx) => tx.any(sql.type(users.row)`select id from users`));
  await isRefused(t, read());
  await promote();
  t.deepEqual(await read(), []);
});

test('a batch is not sent to a standby and is written to the primary afterwards', async (t) => {
  const { url, promote } = await standby(t);
  const writers = openBatchWriters({
    databaseUrl: url,
    time: systemTime,
    random: systemRandom,
    connectionsMax: 1,
  });
  t.teardown(() => writers.close());
  const words = insertTarget<{ word: string }>({ table: 'words', columns: { word: 'text' }, key: ['word'] });
  const brief = writers.writer(words, { deadlineMs: 300 });
  const error = await t.throwsAsync(brief.write({ word: 'a' }), { instanceOf: StoreError });
  t.like(error, { failure: 'unavailable', retryable: true });
  await promote();
  t.is(await writers.writer(words).write({ word: 'a' }), 'inserted');
});
