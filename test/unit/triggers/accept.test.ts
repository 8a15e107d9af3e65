// Accepting messages against a real PostgreSQL: one that goes alone takes another statement than many that go together.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import pg from 'pg';
import { systemRandom, systemTime } from '../../../cluster/index.js';
import { openBatchWriters } from '../../../src/storage/index.js';
import {
  type AcceptedRow,
  type Acceptance,
  acceptTarget,
} from '../../../src/triggers/inbox/accept-target.js';
import { databaseOfFile } from '../../support/database.js';

const database = databaseOfFile(test);

function message(
  where: Pick<AcceptedRow, 'tenant_id' | 'trigger_id' | 'session_id'>,
  key: string,
): AcceptedRow {
  return {
    ...where,
    key,
    execution_id: null,
    state: 'buffered',
    asks: true,
    payload_hash: 'hash',
    sealed: Buffer.from([0, 1, 255]),
    answer: JSON.stringify({ status: 202, contentType: 'text/plain', body: '"{quoted}"' }),
    hold_ms: 60_000,
    keep_ms: 90_000,
  };
}

test('a message that comes alone is accepted as those that come together', async (t) => {
  const owner = new pg.Client({ connectionString: database.url });
  await owner.connect();
  const writers = openBatchWriters({ databaseUrl: database.url, time: systemTime, random: systemRandom });
  database.atEnd(async () => {
    await writers.close();
    await owner.end();
  });
  const inbox = writers.writer(acceptTarget);
  const where = { tenant_id: randomUUID(), trigger_id: randomUUID(), session_id: randomUUID() };
  const inTurn: Acceptance[] = [];
  for (const key of ['a', 'b']) inTurn.push(await inbox.write(message(where, key)));
  const together = await Promise.all(['c', 'd', 'b'].map((key) => inbox.write(message(where, key))));
  const again = await inbox.write(message(where, 'c'));
  const seen = [...inTurn, ...together, again].map(({ fate, buffered }) => `${fate} ${buffered}`);
  t.deepEqual(seen, ['accepted 1', 'accepted 2', 'accepted 3', 'accepted 4', 'present 0', 'present 0']);
  const seqs = [...inTurn, ...together.slice(0, 2)].map(({ seq }) => seq);
  t.deepEqual(
    seqs,
    seqs.toSorted((one, other) => one - other),
  );

  await owner.query("select set_config('troupe.tenant_id', $1, false)", [where.tenant_id]);
  const { rows } = await owner.query(
    `select count(*)::int as messages, session_id, execution_id, state, payload_hash, sealed, answer, attempts,
       round(extract(epoch from expires_at - due_at)) as kept
     from trigger_inbox where tenant_id = $1
     group by session_id, execution_id, state, payload_hash, sealed, answer, attempts, kept`,
    [where.tenant_id],
  );
  t.is(rows.length, 1, 'all four alike');
  t.like(rows[0], { messages: 4, session_id: where.session_id, state: 'buffered', attempts: 1, kept: '30' });
});
