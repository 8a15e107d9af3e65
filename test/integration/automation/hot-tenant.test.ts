// A tenant that brings far more than its share, at the two places where messages of all tenants meet in the store. How
// long another waits is counted in rows that are sent before its own, which no noise of the machine changes.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import type { BatchTarget, BatchWriters } from '../../../src/infra/storage/index.js';
import { type AcceptedRow, acceptTarget } from '../../../src/automation/inbox/accept-target.js';
import { flushTarget } from '../../../src/automation/inbox/flush-target.js';
import { databaseOfFile } from '../../support/database/database.js';
import { openPatientWriters } from '../../support/database/patient-writers.js';
import { countSentRows } from '../../support/database/sent-rows.js';

const database = databaseOfFile(test);
let writers: BatchWriters;

const rowsMax = 10;
const hotRows = 500;
const calmRows = 10;
/** Every second row is the calm one's, and the last may go with a full batch. */
const waitMax = 2 * calmRows + rowsMax;

test.serial.before(() => {
  writers = openPatientWriters(database.url);
  database.atEnd(() => writers.close());
});

/** The longest that the calm one waits, in rows. */
async function longestWait<Row extends object, Outcome>(
  target: BatchTarget<Row, Outcome>,
  rowOf: (tenant: string) => Row,
): Promise<number> {
  const sent = countSentRows(target);
  // Some 50 commits: on a busy machine they take longer than one row may wait.
  const writer = writers.writer(sent.target, { rowsMax, deadlineMs: 120_000 });
  const [hot, calm] = [randomUUID(), randomUUID()];
  const load = Array.from({ length: hotRows }, () => writer.write(rowOf(hot)));
  const ofCalm = Array.from({ length: calmRows }, () => rowOf(calm));
  await Promise.all([...load, ...ofCalm.map((row) => writer.write(row))]);
  return Math.max(...ofCalm.map((row) => sent.before(row)));
}

test.serial("a tenant's messages are accepted beside a tenant that sends fifty times as many", async (t) => {
  const longest = await longestWait(acceptTarget, (tenant_id): AcceptedRow => ({
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
  }));
  t.true(longest <= waitMax, `waited for ${longest} rows`);
});

test.serial("a tenant's buffers are flushed beside a tenant that has fifty times as many", async (t) => {
  const longest = await longestWait(flushTarget({ holdMs: 60_000, keepMs: 60_000 }), (tenant_id) => ({
    tenant_id,
    trigger_id: tenant_id,
    session_id: randomUUID(),
    execution_id: randomUUID(),
    at_once: false,
    most: 100,
    bytes: 0,
  }));
  t.true(longest <= waitMax, `waited for ${longest} rows`);
});
