// Ending messages and starting their deliveries, against a real PostgreSQL: claims and order.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import { systemRandom, systemTime } from '../../../cluster/index.js';
import { type BatchWriter, openBatchWriters } from '../../../src/infra/storage/index.js';
import type { ClaimedDelivery, Next } from '../../../src/automation/outbox/deliveries.store.js';
import {
  type QueueRow,
  type QueueState,
  queueTarget,
} from '../../../src/automation/outbox/delivery-queue-target.js';
import { attemptsMax } from '../../../src/automation/outbox/retry.js';
import { type Finish, type FinishedRow, finishTarget } from '../../../src/automation/outbox/finish-target.js';
import {
  type EndedMessage as Message,
  EndedMessages,
  finished,
} from '../../support/builders/ended-messages.js';
import { eventually } from '../../support/clocks/eventually.js';

const holdMs = 30_000;
const messages = new EndedMessages(test);
let finishes: BatchWriter<FinishedRow, Finish>;
let lines: BatchWriter<QueueRow, QueueState>;

test.serial.before(() => {
  finishes = messages.writers.writer(finishTarget({ holdMs }));
  lines = messages.writers.writer(queueTarget({ holdMs }));
});

function silent(of: Message): FinishedRow {
  return finished(of, 1, { reply: undefined, answer: undefined });
}

function begun({ answer, trigger_id, session_id }: FinishedRow, made: Partial<ClaimedDelivery> = {}) {
  if (answer === undefined) throw new Error('it has an answer');
  const { id, executionId, chunkTotal, sealed } = answer;
  return {
    id,
    trigger_id,
    session_id,
    execution_id: executionId,
    key: executionId,
    chunk: 1,
    chunk_total: chunkTotal,
    attempts: 1,
    sealed,
    created_at: new Date(),
    ...made,
  };
}

function look(of: Message, given: Partial<QueueRow> = {}): QueueRow {
  const { tenant_id, session_id } = of;
  return { tenant_id, session_id, claim: randomUUID(), ended: undefined, continues: true, ...given };
}

function ended(of: Message, delivery: ClaimedDelivery, next: Next, statusCode = 200): QueueRow {
  return look(of, { ended: { delivery, next, end: { statusCode, error: null } } });
}

const sent: Next = { step: 'over', status: 'delivered' };

test.serial('a plan made for empty tables is not kept while they fill', async (t) => {
  const tenantId = await messages.tenant();
  let laterMs = 0;
  const time = { ...systemTime, monotonicMs: () => systemTime.monotonicMs() + laterMs };
  const writers = openBatchWriters({ databaseUrl: messages.url, time, random: systemRandom });
  const writer = writers.writer(finishTarget({ holdMs }));
  await writer.write(finished(await messages.message(tenantId)));
  await messages.owner.query(
    `insert into executions (tenant_id, id, session_id, agent_id, slot, arrival, status, outcome, due_at, input, channel,
        created_at, finished_at)
      select $1, gen_random_uuid(), gen_random_uuid(), $1, 0, 0, 'completed', 'COMPLETED', now(), '{}', 'webhook', now(),
        now()
      from generate_series(1, 5000)`,
    [tenantId],
  );
  laterMs = 60_000;
  for (let count = 0; count < 5; count += 1) await writer.write(finished(await messages.message(tenantId)));
  // Reads appear in the statistics at the latest when connections end.
  await writers.close();
  const looks = await eventually(async () => {
    const { rows } = await messages.owner.query<{ count: number; read: number }>(
      `select sum(idx_scan)::int as count, sum(idx_tup_read)::int as read from pg_stat_user_indexes
        where relname = 'executions'`,
    );
    return (rows[0]?.count ?? 0) >= 6 && rows[0];
  });
  t.true(looks.read < 5_000, `${looks.read} rows were read`);
});

test('ending a message starts the first attempt to send its answer, which ends in one more row', async (t) => {
  const one = await messages.message(await messages.tenant());
  const row = finished(one);
  const { begunAt, waits } = await finishes.write(row);
  t.true(begunAt instanceof Date);
  t.false(waits);
  t.deepEqual(await messages.state(one), { inbox: 'done', deliveries: ['pending'], shown: 'pending' });
  t.deepEqual(await messages.attempts(one), ['1.1 open']);
  const held = await lines.write(look(one));
  t.is(held.first, undefined, 'nobody else sends it meanwhile');
  t.true((held.dueInMs ?? 0) > holdMs / 2);
  const after = await lines.write(ended(one, begun(row), sent));
  t.true((after.ageMs ?? -1) >= 0);
  t.deepEqual({ ...after, ageMs: 0 }, { ageMs: 0, first: undefined, dueInMs: undefined });
  t.deepEqual(await messages.state(one), { inbox: 'done', deliveries: ['delivered'], shown: 'delivered' });
  t.deepEqual(await messages.attempts(one), ['1.1 200']);
  const { rows } = await messages.owner.query<{ sealed: Buffer }>(
    'select sealed from trigger_replies where session_id = $1',
    [one.session_id],
  );
  t.deepEqual(
    rows.map(({ sealed }) => sealed.toString()),
    [`reply to ${one.key}`],
  );
});

test('an end with a lost outcome is written again and keeps its attempt', async (t) => {
  const one = await messages.message(await messages.tenant());
  const row = finished(one);
  const [first, again] = [await finishes.write(row), await finishes.write(row)];
  t.deepEqual(again, first);
  t.deepEqual(await messages.attempts(one), ['1.1 open']);
});

test('a second process that ends the same message sends nothing', async (t) => {
  const one = await messages.message(await messages.tenant());
  const [mine, twins] = [finished(one), finished(one)];
  const ends = await Promise.all([finishes.write(mine), finishes.write(twins)]);
  t.is(ends.filter(({ begunAt }) => begunAt !== undefined).length, 1);
  t.is((await finishes.write(finished(one))).begunAt, undefined, 'also when it comes late');
  t.deepEqual(await messages.attempts(one), ['1.1 open']);
  t.deepEqual(await messages.state(one), { inbox: 'done', deliveries: ['pending'], shown: 'pending' });
});

test('an end repeated after another process claimed the answer does not send it too', async (t) => {
  const one = await messages.message(await messages.tenant());
  const row = finished(one, 1);
  const waiting = { ...row, answer: row.answer && { ...row.answer, mayBegin: false } };
  t.deepEqual(await finishes.write(waiting), { begunAt: undefined, waits: true });
  t.is((await lines.write(look(one))).first?.id, row.answer?.id);
  t.is((await finishes.write(row)).begunAt, undefined);
  t.deepEqual(await messages.attempts(one), ['1.1 open']);
});

test('an answer waits for an older running message of its session, and follows its answer', async (t) => {
  const tenantId = await messages.tenant();
  const older = await messages.message(tenantId);
  const younger = await messages.message(tenantId, older.session_id);
  const row = finished(younger);
  t.deepEqual(await finishes.write(row), { begunAt: undefined, waits: true });
  const blocked = await lines.write(look(younger));
  t.is(blocked.first, undefined);
  t.true((blocked.dueInMs ?? 1) <= 0, 'it is due, and not to be had');
  const olderRow = finished(older);
  t.false((await finishes.write(olderRow)).waits, 'it is the first of the line, whoever came before');
  const next = await lines.write(ended(older, begun(olderRow), sent));
  t.is(next.first?.execution_id, younger.executionId);
  t.deepEqual(next.first, begun(row, { created_at: next.first?.created_at ?? new Date(0) }));
  t.deepEqual(await messages.attempts(younger), ['1.1 open']);
});

test('a message that ends without an answer releases the next ones', async (t) => {
  const tenantId = await messages.tenant();
  const older = await messages.message(tenantId);
  const younger = await messages.message(tenantId, older.session_id);
  await finishes.write(finished(younger));
  t.deepEqual(await finishes.write(silent(older)), { begunAt: undefined, waits: true });
  t.is((await lines.write(look(older))).first?.execution_id, younger.executionId);
  t.deepEqual(await finishes.write(silent(await messages.message(tenantId))), {
    begunAt: undefined,
    waits: false,
  });
});

test('messages of one session that end together are answered in the order of acceptance', async (t) => {
  const tenantId = await messages.tenant();
  const session = randomUUID();
  const [a, b, c] = [
    await messages.message(tenantId, session),
    await messages.message(tenantId, session),
    await messages.message(tenantId, session),
  ];
  const other = await messages.message(await messages.tenant(), session);
  const rows = [c, a, b, other].map((one) => finished(one));
  const ends = await Promise.all(rows.map((row) => finishes.write(row)));
  t.deepEqual(
    ends.map(({ begunAt }) => begunAt !== undefined),
    [false, true, false, true],
    'also beside the session of another tenant that has the same id',
  );
  const { first } = await lines.write(ended(a, begun(finished(a), { id: rows[1]?.answer?.id ?? '' }), sent));
  t.is(first?.execution_id, b.executionId);
  const after = first && (await lines.write(ended(b, first, sent)));
  t.is(after?.first?.execution_id, c.executionId);
  const { rows: replies } = await messages.owner.query<{ sealed: Buffer }>(
    'select sealed from trigger_replies where tenant_id = $1 and session_id = $2',
    [tenantId, session],
  );
  t.is(replies.length, 1);
});

test('chunks follow one another at once, or after their pause', async (t) => {
  const one = await messages.message(await messages.tenant());
  const row = finished(one, 3);
  await finishes.write(row);
  const second = await lines.write(ended(one, begun(row), { step: 'chunk', inMs: 0 }));
  t.like(second.first, { chunk: 2, attempts: 1 });
  const third = await lines.write(ended(one, second.first ?? begun(row), { step: 'chunk', inMs: 5_000 }));
  t.is(third.first, undefined);
  t.true((third.dueInMs ?? 0) > 0 && (third.dueInMs ?? 0) <= 5_000);
  t.deepEqual(await messages.attempts(one), ['1.1 200', '2.1 200']);
  t.like(await messages.state(one), { shown: 'pending' });
});

test('an end of an attempt with a lost outcome is written again, with the attempt that it started', async (t) => {
  const one = await messages.message(await messages.tenant());
  const row = finished(one, 2);
  await finishes.write(row);
  const end = ended(one, begun(row), { step: 'chunk', inMs: 0 });
  const first = await lines.write(end);
  const again = await lines.write(end);
  t.deepEqual(again.first, first.first);
  t.like(again, { ageMs: undefined, dueInMs: again.dueInMs });
  t.deepEqual(await messages.attempts(one), ['1.1 200', '2.1 open']);
  t.is((await lines.write(look(one))).first, undefined, 'another claim has no part in it');
});

test('an attempt that another process claimed changes nothing', async (t) => {
  const one = await messages.message(await messages.tenant());
  const row = finished(one);
  await finishes.write(row);
  await messages.owner.query(`update deliveries set due_at = now() where execution_id = $1`, [
    one.executionId,
  ]);
  const taken = await lines.write(look(one));
  t.like(taken.first, { attempts: 2 });
  const late = await lines.write(ended(one, begun(row), { step: 'over', status: 'delivery_failed' }, 500));
  t.is(late.ageMs, undefined);
  t.is(late.first, undefined);
  t.deepEqual(await messages.attempts(one), ['1.1 500', '1.2 open']);
  t.like(await messages.state(one), { deliveries: ['pending'], shown: 'pending' });
});

test('an answer whose last attempt never ends has failed, and the next ones continue', async (t) => {
  const tenantId = await messages.tenant();
  const one = await messages.message(tenantId);
  const next = await messages.message(tenantId, one.session_id);
  const row = finished(one);
  await finishes.write(row);
  await finishes.write(finished(next));
  const lookWhenDue = async () => {
    await messages.owner.query(`update deliveries set due_at = now() where execution_id = $1`, [
      one.executionId,
    ]);
    return lines.write(look(one));
  };
  for (let attempts = 2; attempts <= attemptsMax; attempts += 1) {
    t.like((await lookWhenDue()).first, { execution_id: one.executionId, attempts });
  }
  t.like(await messages.state(one), { deliveries: ['pending'], shown: 'pending' });
  const over = await lookWhenDue();
  t.is(over.first, undefined);
  t.true((over.dueInMs ?? 1) <= 0, 'the line is to be looked at again');
  t.deepEqual(await messages.state(one), {
    inbox: 'done',
    deliveries: ['delivery_failed'],
    shown: 'delivery_failed',
  });
  t.is((await messages.attempts(one)).length, attemptsMax, 'what is not sent is no attempt');
  const { rows } = await messages.owner.query(
    'select attempts, last_status, last_error from deliveries where execution_id = $1',
    [one.executionId],
  );
  t.deepEqual(rows, [
    {
      attempts: attemptsMax,
      last_status: null,
      last_error: 'The last attempt to send it never came to an end.',
    },
  ]);
  const late = await lines.write({
    ...ended(one, begun(row, { attempts: attemptsMax }), sent),
    continues: false,
  });
  t.is(late.ageMs, undefined, 'what is over is not moved');
  t.is((await lines.write(look(one))).first?.execution_id, next.executionId);
});

test("of two processes that read one session's queue at once only one starts the attempt", async (t) => {
  const one = await messages.message(await messages.tenant());
  const row = finished(one);
  await finishes.write({ ...row, answer: row.answer && { ...row.answer, mayBegin: false } });
  const others = messages.writers.writer(queueTarget({ holdMs }));
  const looks = await Promise.all([lines.write(look(one)), others.write(look(one))]);
  t.is(looks.filter(({ first }) => first !== undefined).length, 1);
  t.true(
    looks.every(({ first, dueInMs }) => first !== undefined || dueInMs !== undefined),
    'nobody is told nothing waits',
  );
  t.deepEqual(await messages.attempts(one), ['1.1 open']);
});

test('a session of another tenant with the same id blocks nobody', async (t) => {
  const theirs = await messages.message(await messages.tenant());
  await messages.message(theirs.tenant_id, theirs.session_id);
  const row = finished(theirs);
  await finishes.write({ ...row, answer: row.answer && { ...row.answer, mayBegin: false } });
  const ours = await messages.message(await messages.tenant(), theirs.session_id);
  t.deepEqual(await lines.write(look(ours)), { ageMs: undefined, first: undefined, dueInMs: undefined });
  t.true((await finishes.write(finished(ours))).begunAt instanceof Date);
});

test('a process that does not continue starts no attempt', async (t) => {
  const tenantId = await messages.tenant();
  const one = await messages.message(tenantId);
  const next = await messages.message(tenantId, one.session_id);
  const row = finished(one);
  await finishes.write(row);
  await finishes.write(finished(next));
  const state = await lines.write({ ...ended(one, begun(row), sent), continues: false });
  t.deepEqual({ ...state, ageMs: 0 }, { ageMs: 0, first: undefined, dueInMs: undefined });
  t.deepEqual(await messages.attempts(next), []);
});
