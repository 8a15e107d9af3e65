// A tenant that brings far more than its share, at the two places where messages of all tenants meet in the store. How
// long another waits is counted in rows that were written meanwhile, which no noise of the machine changes.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import { systemRandom, systemTime } from '../../../cluster/index.js';
import { type BatchWriters, openBatchWriters } from '../../../src/storage/index.js';
import { acceptTarget } from '../../../src/triggers/inbox/accept-target.js';
import { flushTarget } from '../../../src/triggers/inbox/flush-target.js';
import { databaseOfFile } from '../../support/database.js';

const database = databaseOfFile(test);
let writers: BatchWriters;

const rowsMax = 10;
const hotRows = 500;
const calmRows = 10;
/** Two batches may be on their way; of those behind them every second row is the calm one's. */
const waitMax = 2 * rowsMax + 2 * calmRows + rowsMax;

test.serial.before(() => {
  writers = openBatchWriters({ databaseUrl: database.url, time: systemTime, random: systemRandom });
  database.atEnd(() => writers.close());
});

/** The longest that the calm one waits, in rows. */
async function longestWait(write: (tenant: string) => Promise<unknown>): Promise<number> {
  const [hot, calm] = [randomUUID(), randomUUID()];
  let written = 0;
  const counted = async (tenant: string): Promise<number> => {
    const before = written;
    await write(tenant);
    written += 1;
    return written - before;
  };
  const load = Array.from({ length: hotRows }, () => counted(hot));
  const waits = await Promise.all(Array.from({ length: calmRows }, () => counted(calm)));
  await Promise.all(load);
  return Math.max(...waits);
}

test.serial(
  'messages of a tenant are accepted among those of one that sends fifty times as many',
  async (t) => {
    const inbox = writers.writer(acceptTarget, { rowsMax });
    const longest = await longestWait((tenant_id) =>
      inbox.write({
        tenant_id,
        trigger_id: tenant_id,
        key: randomUUID(),
        session_id: randomUUID(),
        execution_id: null,
        state: 'buffered',
        asks: true,
        payload_hash: '',
        sealed: Buffer.from('hello'),
        answer: null,
        hold_ms: 60_000,
        keep_ms: 60_000,
      }),
    );
    t.true(longest <= waitMax, `waited for ${longest} rows`);
  },
);

test.serial('buffers of a tenant are flushed among those of one that has fifty times as many', async (t) => {
  const flushes = writers.writer(flushTarget({ holdMs: 60_000, keepMs: 60_000 }), { rowsMax });
  const longest = await longestWait((tenant_id) =>
    flushes.write({
      tenant_id,
      trigger_id: tenant_id,
      session_id: randomUUID(),
      execution_id: randomUUID(),
      at_once: false,
      bytes: 0,
    }),
  );
  t.true(longest <= waitMax, `waited for ${longest} rows`);
});
