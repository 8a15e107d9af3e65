// Accepting messages against a real PostgreSQL: single messages and batches use different statements.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import pg from 'pg';
import { z } from 'zod';
import type { TenantScope } from '../../../src/kernel/tenant-scope.js';
import { openStore, sql, type Store } from '../../../src/infra/storage/index.js';
import {
  type AcceptedRow,
  type Acceptance,
  acceptTarget,
} from '../../../src/automation/inbox/accept-target.js';
import { flushTarget } from '../../../src/automation/inbox/flush-target.js';
import { insertFound } from '../../../src/automation/inbox/found-messages.store.js';
import { mailTarget } from '../../../src/automation/mail/mail-target.js';
import { insertTenant } from '../../support/builders/callers.js';
import { databaseOfFile } from '../../support/database/database.js';
import { openPatientWriters } from '../../support/database/patient-writers.js';

const database = databaseOfFile(test);

type Place = Pick<AcceptedRow, 'tenant_id' | 'trigger_id' | 'session_id'>;

function message(where: Place, key: string, state: 'buffered' | 'running' = 'buffered'): AcceptedRow {
  return {
    ...where,
    key,
    execution_id: state === 'buffered' ? null : randomUUID(),
    state,
    asks: true,
    payload_hash: 'hash',
    sealed: Buffer.from([0, 1, 255]),
    answer: JSON.stringify({ status: 202, contentType: 'text/plain', body: '"{quoted}"' }),
    hold_ms: 60_000,
    keep_ms: 90_000,
  };
}

async function takenOverSession(store: Store, scope: TenantScope): Promise<string> {
  const [agent, session] = [randomUUID(), randomUUID()];
  await store.inTenant(scope, async (tx) => {
    await tx.query(sql.typeAlias('nothing')`
      insert into agents (tenant_id, id, document)
      values (${scope.tenantId}, ${agent}, '{"name": "agent", "type": "agent"}')`);
    await tx.query(sql.typeAlias('nothing')`
      insert into sessions (tenant_id, id, agent_id, slot, channel, control_mode, control_kind, created_at,
        last_interaction)
      values (${scope.tenantId}, ${session}, ${agent}, 0, 'webhook', 'manual_handoff', 'handoff', now(), now())`);
  });
  return session;
}

test('a single message is accepted like one of a batch', async (t) => {
  const owner = new pg.Client({ connectionString: database.url });
  await owner.connect();
  const writers = openPatientWriters(database.url);
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

test('a single message that runs at once is accepted like one of a batch', async (t) => {
  const writers = openPatientWriters(database.url);
  database.atEnd(() => writers.close());
  const inbox = writers.writer(acceptTarget);
  const where = { tenant_id: randomUUID(), trigger_id: randomUUID(), session_id: randomUUID() };
  const inTurn: Acceptance[] = [];
  for (const key of ['a', 'b', 'a']) inTurn.push(await inbox.write(message(where, key, 'running')));
  const together = await Promise.all(['c', 'd'].map((key) => inbox.write(message(where, key, 'running'))));
  const seen = [...inTurn, ...together].map(({ fate, buffered }) => `${fate} ${buffered}`);
  t.deepEqual(seen, ['accepted 0', 'accepted 0', 'present 0', 'accepted 0', 'accepted 0']);
  const [first, second] = inTurn;
  t.true((first?.seq ?? Number.NaN) < (second?.seq ?? Number.NaN));
  t.true(together.every(({ seq }) => seq > (second?.seq ?? Number.NaN)));
});

test('a message that runs is told whether older ones of its session run', async (t) => {
  const owner = new pg.Client({ connectionString: database.url });
  await owner.connect();
  const writers = openPatientWriters(database.url);
  database.atEnd(async () => {
    await writers.close();
    await owner.end();
  });
  const inbox = writers.writer(acceptTarget);
  const where = { tenant_id: randomUUID(), trigger_id: randomUUID(), session_id: randomUUID() };
  const accept = (key: string, state: 'buffered' | 'running' = 'running', given: Partial<Place> = {}) =>
    inbox.write(message({ ...where, ...given }, key, state));
  const first = await accept('a');
  t.false(first.isBehind);
  t.true((await accept('b')).isBehind);
  const [third, elsewhere, buffered] = await Promise.all([
    accept('c'),
    accept('d', 'running', { session_id: randomUUID() }),
    accept('e', 'buffered'),
  ]);
  t.true(third.isBehind, 'in a batch');
  t.deepEqual([elsewhere.isBehind, buffered.isBehind], [false, false]);
  t.false((await accept('f', 'running', { tenant_id: randomUUID() })).isBehind, 'of another tenant');
  await owner.query("select set_config('troupe.tenant_id', $1, false)", [where.tenant_id]);
  await owner.query("update trigger_inbox set state = 'done' where tenant_id = $1 and state = 'running'", [
    where.tenant_id,
  ]);
  t.false((await accept('g')).isBehind, 'those that have ended do not count');
});

test('a message to a taken-over session is refused, alone and in a batch, and nothing is written', async (t) => {
  const writers = openPatientWriters(database.url);
  const store = await openStore({ databaseUrl: database.url });
  database.atEnd(async () => {
    await writers.close();
    await store.close();
  });
  const inbox = writers.writer(acceptTarget);
  const scope = await insertTenant(store);
  const session_id = await takenOverSession(store, scope);
  const where = { tenant_id: scope.tenantId, trigger_id: randomUUID(), session_id };
  const accept = async (key: string, given: Partial<AcceptedRow> = {}): Promise<string> =>
    (await inbox.write({ ...message(where, key), ...given })).fate;
  t.is(await accept('buffered'), 'taken over');
  t.is(await accept('running', { state: 'running', execution_id: randomUUID() }), 'taken over');
  t.is(
    await accept('kept for people', { state: 'running', execution_id: randomUUID(), asks: false }),
    'accepted',
  );
  const beside = [accept('of another', { session_id: randomUUID() }), accept('together')];
  t.deepEqual(await Promise.all(beside), ['accepted', 'taken over']);
  const keys = await store.inTenant(scope, (tx) =>
    tx.any(sql.type(z.object({ key: z.string() }))`
      select key from trigger_inbox where tenant_id = ${scope.tenantId} order by key`),
  );
  t.deepEqual(keys, [{ key: 'kept for people' }, { key: 'of another' }]);
});

test('messages of many kinds in one batch are answered as if they came one by one', async (t) => {
  const writers = openPatientWriters(database.url);
  const store = await openStore({ databaseUrl: database.url });
  database.atEnd(async () => {
    await writers.close();
    await store.close();
  });
  const inbox = writers.writer(acceptTarget);
  const kinds = 120;
  /** The same messages for separate tenants: two senders, two triggers, three sessions, and repeated keys. */
  const make = async (): Promise<readonly AcceptedRow[]> => {
    const scopes = [await insertTenant(store), await insertTenant(store)];
    const places = await Promise.all(
      scopes.map(async (scope) => ({
        tenant_id: scope.tenantId,
        triggers: [randomUUID(), randomUUID()],
        sessions: [await takenOverSession(store, scope), randomUUID(), randomUUID()],
      })),
    );
    return Array.from({ length: kinds }, (_, index) => {
      const { tenant_id, triggers, sessions } = places[index % 2] ?? never();
      const trigger_id = triggers[Math.floor(index / 2) % 2] ?? never();
      const session_id = sessions[(index * 7) % 3] ?? never();
      const state = (['buffered', 'buffered', 'running', 'buffered', 'done'] as const)[index % 5] ?? never();
      const where = { tenant_id, trigger_id, session_id };
      return {
        ...message(where, `key ${(index * 31) % 40}`),
        execution_id: state === 'buffered' ? null : randomUUID(),
        state,
        asks: index % 11 !== 0,
      };
    });
  };
  const [alone, together] = [await make(), await make()];
  const inTurn: Acceptance[] = [];
  for (const row of alone) inTurn.push(await inbox.write(row));
  const atOnce = await Promise.all(together.map((row) => inbox.write(row)));
  const seen = (all: readonly Acceptance[]): readonly string[] =>
    all.map(({ fate, buffered }) => `${fate} ${buffered}`);
  t.deepEqual(seen(atOnce), seen(inTurn));
  t.deepEqual(
    [...new Set(inTurn.map(({ fate }) => fate))].toSorted(),
    ['accepted', 'present', 'taken over'],
    'all fates are among them',
  );
  const seqs = atOnce.filter(({ fate }) => fate === 'accepted').map(({ seq }) => seq);
  t.deepEqual(
    seqs,
    seqs.toSorted((one, other) => one - other),
    'in the order in which they came',
  );
});

function never(): never {
  throw new RangeError('there is one');
}

test('a plan made without sessions uses the index of taken-over sessions and never scans all', async (t) => {
  const owner = new pg.Client({ connectionString: database.url });
  await owner.connect();
  database.atEnd(() => owner.end());
  // As the connections that write in batches are set.
  await owner.query('set role troupe_writer; set enable_seqscan = off');
  const where = { tenant_id: randomUUID(), trigger_id: randomUUID(), session_id: randomUUID() };
  const alone = (state: 'buffered' | 'running'): string =>
    acceptTarget.shorter?.([message(where, 'key', state)])?.text ?? '';
  for (const text of [acceptTarget.text, alone('buffered'), alone('running')]) {
    const { rows } = await owner.query<{ 'QUERY PLAN': string }>(`explain (generic_plan) ${text}`);
    const scans = rows.map((row) => row['QUERY PLAN']).filter((line) => line.includes(' on sessions '));
    t.is(scans.length, 1);
    t.regex(scans[0] ?? '', /Index (?:Only )?Scan using sessions_taken_over on sessions/);
  }
});

test('the older messages of a session are found by the index of sessions, by plans made without any', async (t) => {
  const owner = new pg.Client({ connectionString: database.url });
  await owner.connect();
  database.atEnd(() => owner.end());
  await owner.query('set role troupe_writer; set enable_seqscan = off');
  const where = { tenant_id: randomUUID(), trigger_id: randomUUID(), session_id: randomUUID() };
  const alone = acceptTarget.shorter?.([message(where, 'key', 'running')])?.text ?? '';
  const texts = [acceptTarget.text, alone, mailTarget.text, flushTarget({ holdMs: 0, keepMs: 0 }).text];
  for (const text of texts) {
    const { rows } = await owner.query<{ 'QUERY PLAN': string }>(`explain (generic_plan) ${text}`);
    const lines = rows.map((row) => row['QUERY PLAN']);
    const at = lines.findIndex((line) => / on trigger_inbox (?:o|i)\b/.test(line));
    t.regex(
      lines[at] ?? '',
      /Index Scan Backward using trigger_inbox_session on trigger_inbox/,
      lines.join('\n'),
    );
    t.regex(lines[at + 1] ?? '', /Index Cond: .*session_id.*seq </);
  }
});

test('mails and found messages are told whether older ones of their session run too', async (t) => {
  const databaseUrl = database.url;
  const writers = openPatientWriters(databaseUrl);
  const store = await openStore({ databaseUrl });
  database.atEnd(async () => {
    await writers.close();
    await store.close();
  });
  const scope = await insertTenant(store);
  const { tenantId } = scope;
  const [triggerId, sessionId] = [randomUUID(), randomUUID()];
  await store.inTenant(scope, async (tx) => {
    await tx.query(sql.typeAlias('nothing')`
      insert into agents (tenant_id, id, document)
      values (${tenantId}, ${triggerId}, '{"name": "agent", "type": "agent"}')`);
    await tx.query(sql.typeAlias('nothing')`
      insert into triggers (tenant_id, id, agent_id, name, trigger_type, config)
      values (${tenantId}, ${triggerId}, ${triggerId}, 'mails', 'email', '{}')`);
  });
  const mail = (key: string) =>
    writers.writer(mailTarget).write({
      tenant_id: tenantId,
      trigger_id: triggerId,
      message_id: key,
      thread: key,
      key,
      session_id: sessionId,
      execution_id: randomUUID(),
      sealed: Buffer.from('sealed'),
      hold_ms: 60_000,
      keep_ms: 60_000,
    });
  const found = (key: string) =>
    store.inTenant(scope, (tx) =>
      insertFound(scope, tx, {
        triggerId,
        key,
        sessionId,
        executionId: randomUUID(),
        sealed: Buffer.from('sealed'),
        holdMs: 60_000,
        keepMs: 60_000,
      }),
    );
  const end = () =>
    store.inTenant(scope, (tx) =>
      tx.query(
        sql.typeAlias('nothing')`update trigger_inbox set state = 'done' where tenant_id = ${tenantId}`,
      ),
    );
  t.false((await mail('a')).place?.isBehind);
  t.true((await mail('b')).place?.isBehind);
  t.true((await found('c'))?.is_behind);
  await end();
  t.false((await found('d'))?.is_behind);
});
