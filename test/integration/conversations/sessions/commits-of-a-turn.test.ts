// The commits of a turn, and that writes which share the commit of its acceptance harm no ended turn. The session's actor
// runs on a single node, over real tables; the turns are real too.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import type pg from 'pg';
import { ClusterError } from '../../../../cluster/index.js';
import type { RunnableAgent } from '../../../../src/agents/index.js';
import { eventually } from '../../../support/clocks/eventually.js';
import { databaseOfFile } from '../../../support/database/database.js';
import {
  type SessionNode,
  type SessionStore,
  startSessionBench,
  startSessionNode,
  turnOf,
} from '../../../support/servers/session-node.js';
import type { TurnsBench } from '../../../support/builders/turns.js';
import { opened } from '../../../support/database/usage-rows.js';

const database = databaseOfFile(test);
let bench: TurnsBench;
let view: pg.Client;
let agent: RunnableAgent;

test.serial.before(async () => {
  ({ bench, view, agent } = await startSessionBench(database));
});

function nodeWith(name: string, sessionId: string): Promise<SessionNode> {
  return startSessionNode({ databaseUrl: database.url, bench, agent, name, sessionId });
}

/** Types of the events; `elsewhere` if the session reports that they are in the store. */
async function run({ session }: SessionNode, executionId: string): Promise<readonly string[]> {
  const types: string[] = [];
  for await (const { events, elsewhere } of session.run(turnOf(agent, executionId), { deadlineMs: 30_000 })) {
    types.push(...events.map(({ event }) => event?.$case ?? ''), ...(elsewhere ? ['elsewhere'] : []));
  }
  return types;
}

/** A stream may end with the activation that it follows; its reader then asks again, as every client does. */
async function commitsOf(sessionId: string): Promise<number> {
  const { rows } = await view.query<{ revision: string }>('select revision from actors where key = $1', [
    sessionId,
  ]);
  return Number(rows[0]?.revision);
}

async function storedOf(sessionId: string): Promise<object | undefined> {
  const { rows } = await view.query<object>(
    `select s.last_message, s.total_turns,
       (select json_agg(m.content order by m.number) from messages m where m.session_id = s.id) as messages,
       (select json_agg(x.state order by x.number) from execution_steps x
         join executions e on e.tenant_id = x.tenant_id and e.id = x.execution_id
         where e.session_id = s.id) as steps
     from sessions s where s.id = $1`,
    [sessionId],
  );
  return rows[0];
}

test('a plain turn of a new session is accepted, claimed and started in one commit and ended in another', async (t) => {
  const sessionId = randomUUID();
  const node = await nodeWith('plain', sessionId);
  t.teardown(() => node.stop());
  const types = await run(node, randomUUID());
  t.is(types[0], 'metadata');
  t.is(types.at(-1), 'done');
  t.is(await commitsOf(sessionId), 2);
  await run(node, randomUUID());
  t.is(await commitsOf(sessionId), 4);
});

test("an actor of a session's id in upper case neither loads the session nor leaves a row", async (t) => {
  const sessionId = randomUUID();
  const node = await nodeWith('spelled', sessionId);
  t.teardown(() => node.stop());
  await run(node, randomUUID());
  const other = { ...node, session: node.another(sessionId.toUpperCase()) };
  const error = await t.throwsAsync(run(other, randomUUID()), { instanceOf: ClusterError });
  t.is(error.tag, 'activation_failed');
  const { rowCount } = await view.query('select 1 from actors where lower(key) = $1', [sessionId]);
  t.is(rowCount, 1);
});

test('readers get the end of a turn after its commit', async (t) => {
  const types: string[] = [];
  const atCommit: boolean[] = [];
  const node = await startSessionNode({
    databaseUrl: database.url,
    bench,
    agent,
    name: 'shown',
    sessionId: randomUUID(),
    over: (store) => ({
      activate: (request) => store.activate(request),
      combine: store.combine,
      async write(batch) {
        const outcomes = await store.write(batch);
        const ends = batch.some(({ write }) => write?.executions?.some(({ outcome }) => outcome !== null));
        if (ends) atCommit.push(types.includes('done'));
        return outcomes;
      },
    }),
  });
  t.teardown(() => node.stop());
  for await (const { events } of node.session.run(turnOf(agent, randomUUID()), { deadlineMs: 30_000 })) {
    types.push(...events.map(({ event }) => event?.$case ?? ''));
  }
  t.is(types.at(-1), 'done');
  t.deepEqual(atCommit, [false]);
});

test("a turn in an existing session writes the session's row once, with its end", async (t) => {
  const sessionId = randomUUID();
  await view.query(`create table session_writes (session_id uuid not null);
    grant insert on session_writes to troupe_writer;
    create function note_session_write() returns trigger language plpgsql as $$
      begin insert into session_writes values (new.id); return null; end $$;
    create trigger note after insert or update on sessions for each row execute function note_session_write()`);
  const writes = async (): Promise<unknown> =>
    (await view.query('select 1 from session_writes where session_id = $1', [sessionId])).rowCount;
  const node = await nodeWith('rows', sessionId);
  t.teardown(() => node.stop());
  await run(node, randomUUID());
  t.is(await writes(), 2);
  await run(node, randomUUID());
  t.is(await writes(), 3);
  t.like(await storedOf(sessionId), { last_message: '4', total_turns: '2' });
});

test('a ledger row opened with a step shares its commit, and a later one has a separate commit', async (t) => {
  const sessionId = randomUUID();
  const executionId = randomUUID();
  const { tenantId } = bench.scope;
  const [along, late] = [opened(tenantId), opened(tenantId)];
  const answers: unknown[] = [];
  const turns: TurnsBench['turns'] = {
    ...bench.turns,
    async run(start, ports) {
      const recorded = ports.record([
        {
          number: 1,
          kind: 'model',
          name: 'agent.tool-loop',
          state: 'started',
          startedAt: new Date().toISOString(),
          finishedAt: null,
          detail: null,
        },
      ]);
      const opening = ports.open?.(along);
      t.true(opening instanceof Promise);
      await Promise.all([recorded, opening]);
      answers.push(ports.open?.(late));
      return bench.turns.run(start, { ...ports, record: () => Promise.resolve(), open: () => undefined });
    },
  };
  await view.query(`create table beginnings (place text not null, of uuid not null, commit xid8 not null);
    grant insert on beginnings to troupe_writer;
    create function note_step() returns trigger language plpgsql as $$
      begin insert into beginnings values ('step', new.execution_id, pg_current_xact_id()); return null; end $$;
    create function note_books() returns trigger language plpgsql as $$
      begin insert into beginnings values ('books', new.attempt_id, pg_current_xact_id()); return null; end $$;
    create trigger note after insert on execution_steps for each row execute function note_step();
    create trigger note after insert on usage_rows for each row execute function note_books()`);
  const node = await startSessionNode({
    databaseUrl: database.url,
    bench,
    agent,
    name: 'books',
    sessionId,
    turns,
  });
  t.teardown(() => node.stop());
  t.is((await run(node, executionId)).at(-1), 'done');
  t.deepEqual(answers, [undefined]);
  const { rows } = await view.query<{ place: string; commit: string }>(
    'select place, commit::text from beginnings where of = any ($1) order by place',
    [[executionId, along.attempt_id, late.attempt_id]],
  );
  t.deepEqual(
    rows.map(({ place }) => place),
    ['books', 'step'],
  );
  t.is(rows[0]?.commit, rows[1]?.commit);
});

test('an ended turn that is submitted again costs no commit: its owner knows it', async (t) => {
  const sessionId = randomUUID();
  const executionId = randomUUID();
  const node = await nodeWith('repeated', sessionId);
  t.teardown(() => node.stop());
  await run(node, executionId);
  t.deepEqual(await run(node, executionId), ['elsewhere']);
  t.is(await commitsOf(sessionId), 2);
});

test('a turn that ended under an earlier owner and is submitted again starts nothing', async (t) => {
  const sessionId = randomUUID();
  const executionId = randomUUID();
  const first = await nodeWith('first', sessionId);
  await run(first, executionId);
  await first.stop();
  const before = await storedOf(sessionId);
  const second = await nodeWith('second', sessionId);
  t.teardown(() => second.stop());
  t.deepEqual(await run(second, executionId), ['elsewhere']);
  t.deepEqual(await storedOf(sessionId), before);
  t.is((await run(second, randomUUID())).at(-1), 'done');
});

/**
 * Once so many turns have ended. The next activation works on a turn without being asked, so it may have ended before its
 * caller comes again, who is then told to look elsewhere.
 */
async function storedAfter(sessionId: string, turns: number): Promise<object> {
  return eventually(async () => {
    const stored = await storedOf(sessionId);
    return stored !== undefined && 'total_turns' in stored && Number(stored.total_turns) === turns
      ? stored
      : undefined;
  });
}

/** Commits the write with this number, counted from 1, and loses the answer. */
function losingAnswer(number: number): (store: SessionStore) => SessionStore {
  return (store) => {
    let writes = 0;
    return {
      activate: (request) => store.activate(request),
      combine: store.combine,
      async write(batch) {
        const outcomes = await store.write(batch);
        writes += 1;
        if (writes === number) throw new ClusterError('outcome_unknown', 'the answer of COMMIT was lost');
        return outcomes;
      },
    };
  };
}

test('a turn that ended under an earlier owner does not run again when the answer of its acceptance is lost', async (t) => {
  const sessionId = randomUUID();
  const executionId = randomUUID();
  const first = await nodeWith('before', sessionId);
  await run(first, executionId);
  await first.stop();
  const before = await storedOf(sessionId);
  const options = { databaseUrl: database.url, bench, agent, name: 'losing', sessionId };
  const second = await startSessionNode({ ...options, over: losingAnswer(1) });
  t.teardown(() => second.stop());
  // The activation that lost the answer has ended; the next one knows that the turn ended long ago.
  t.deepEqual(await run(second, executionId), ['elsewhere']);
  t.deepEqual(await storedOf(sessionId), before);
});

test('a turn whose claim is committed without an answer is loaded again, and runs once', async (t) => {
  const sessionId = randomUUID();
  const first = await nodeWith('claimed', sessionId);
  await run(first, randomUUID());
  await first.stop();
  const mayAct: boolean[] = [];
  const turns: TurnsBench['turns'] = {
    ...bench.turns,
    run(start, ports) {
      const record: typeof ports.record = async (steps) => {
        await ports.record(steps);
        mayAct.push(ports.mayAct());
      };
      return bench.turns.run(start, { ...ports, record });
    },
  };
  const options = { databaseUrl: database.url, bench, agent, name: 'unclaimed', sessionId, turns };
  // The second write of this activation is the claim: the session is not new, so the acceptance commits by itself.
  const second = await startSessionNode({ ...options, over: losingAnswer(2) });
  t.teardown(() => second.stop());
  const executionId = randomUUID();
  await run(second, executionId);
  const stored = await storedAfter(sessionId, 2);
  t.like(stored, { total_turns: '2', last_message: '4' });
  // The step's start was recorded by the activation that lost the answer, which then may not ask the model.
  t.deepEqual(mayAct, [false]);
});

test('a claim of a turn that the store reports as ended long ago ends the activation, and a fresh load decides', async (t) => {
  const sessionId = randomUUID();
  const executionId = randomUUID();
  const first = await nodeWith('original', sessionId);
  await run(first, randomUUID());
  await first.stop();
  let runs = 0;
  const turns: TurnsBench['turns'] = {
    ...bench.turns,
    run(start, ports) {
      runs += 1;
      return bench.turns.run(start, ports);
    },
  };
  let writes = 0;
  const options = { databaseUrl: database.url, bench, agent, name: 'told', sessionId, turns };
  const second = await startSessionNode({
    ...options,
    over: (store) => ({
      activate: (request) => store.activate(request),
      combine: store.combine,
      async write(batch) {
        const outcomes = await store.write(batch);
        writes += 1;
        // The session is not new, so that its second write is the claim.
        if (writes !== 2) return outcomes;
        const result = { finishedBefore: new Set([executionId]) };
        return outcomes.map((one) => (one.outcome === 'written' ? { ...one, result } : one));
      },
    }),
  });
  t.teardown(() => second.stop());
  await run(second, executionId);
  await storedAfter(sessionId, 2);
  t.is(runs, 2, 'the turn went on under the next activation');
});

test('an erased session leaves no message, step or event of its turns, and the next session keeps its own', async (t) => {
  const [erased, kept] = [randomUUID(), randomUUID()];
  const executions = { [erased]: randomUUID(), [kept]: randomUUID() };
  for (const sessionId of [erased, kept]) {
    const node = await nodeWith(`parts-${sessionId}`, sessionId);
    t.teardown(() => node.stop());
    await run(node, executions[sessionId] ?? '');
    if (sessionId === erased) await node.session.erase({ by: 'a test' }, { deadlineMs: 30_000 });
  }
  const parts = async (sessionId: string): Promise<unknown> => {
    const { rows } = await view.query(
      `select (select count(*)::int from messages where session_id = $1) as messages,
         (select count(*)::int from execution_steps where execution_id = $2) as steps,
         (select count(*)::int from execution_logs where execution_id = $2) as logs`,
      [sessionId, executions[sessionId]],
    );
    return rows[0];
  };
  t.deepEqual(await parts(erased), { messages: 0, steps: 0, logs: 0 });
  t.deepEqual(await parts(kept), { messages: 2, steps: 1, logs: 1 });
});
