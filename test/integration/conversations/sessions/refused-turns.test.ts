// Turns of which the store refuses a write for good. The session's actor runs on a single node, over real tables; the turns
// are real too.
import { randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import type pg from 'pg';
import type { RunnableAgent } from '../../../../src/agents/index.js';
import { databaseOfFile } from '../../../support/database/database.js';
import {
  type SessionNode,
  startSessionBench,
  startSessionNode,
  turnOf,
} from '../../../support/servers/session-node.js';
import type { TurnsBench } from '../../../support/builders/turns.js';

const database = databaseOfFile(test);
let bench: TurnsBench;
let view: pg.Client;
let agent: RunnableAgent;

test.serial.before(async () => {
  ({ bench, view, agent } = await startSessionBench(database));
  await view.query(`
    create function refuse() returns trigger language plpgsql as $$ begin
      raise exception 'as the test says' using errcode = '54000'; end $$;
    create trigger refuse_question before insert on messages for each row
      when (new.role = 'user' and new.content like 'refuse the question%') execute function refuse();
    create trigger refuse_turn before insert on executions for each row
      when (new.input ->> 'message' = 'refuse the turn') execute function refuse();
    create trigger refuse_answer before insert on messages for each row
      when (new.role = 'assistant' and new.content like '%refuse the answer%') execute function refuse()`);
});

interface Rig {
  readonly node: SessionNode;
  readonly sessionId: string;
  readonly reports: string[];
  /** The turns that reached the models. */
  readonly runs: string[];
}

async function start(t: ExecutionContext, name: string): Promise<Rig> {
  const sessionId = randomUUID();
  const [reports, runs]: [string[], string[]] = [[], []];
  const turns: TurnsBench['turns'] = {
    ...bench.turns,
    run(given, ports) {
      const record: typeof ports.record = async (steps) => {
        await ports.record(steps);
        if (ports.mayAct()) runs.push(given.executionId);
      };
      return bench.turns.run(given, { ...ports, record });
    },
  };
  const node = await startSessionNode({
    databaseUrl: database.url,
    bench,
    agent,
    name,
    sessionId,
    turns,
    report: (attempted) => void reports.push(attempted),
  });
  t.teardown(() => node.stop());
  return { node, sessionId, reports, runs };
}

/** Types of the events to the end. A stream may end with the activation that it follows; its reader then asks again. */
async function run(session: SessionNode['session'], executionId: string, message: string): Promise<string[]> {
  const types: string[] = [];
  for (let attempt = 1; attempt <= 5; attempt += 1) {
    try {
      const request = turnOf(agent, executionId, undefined, message);
      for await (const { events, elsewhere } of session.run(request, { deadlineMs: 10_000 })) {
        types.push(...events.map(({ event }) => event?.$case ?? ''), ...(elsewhere ? ['elsewhere'] : []));
      }
      return types;
    } catch (error) {
      types.push(error instanceof Error ? error.message : String(error));
    }
  }
  return types;
}

async function executionOf(id: string): Promise<unknown> {
  const { rows } = await view.query<object>(
    `select status, outcome, attempts, error ->> 'code' as code, output,
       (select json_agg(l ->> 'type') from execution_logs, jsonb_array_elements(events) l where execution_id = $1) as log
     from executions where id = $1`,
    [id],
  );
  return rows[0];
}

async function sessionOf(id: string): Promise<unknown> {
  const { rows } = await view.query<object>(
    `select s.total_turns::int, (select json_agg(m.role order by m.number) from messages m where m.session_id = s.id) as roles,
       (select busy_process from actors where key = s.id::text) as busy
     from sessions s where id = $1`,
    [id],
  );
  return rows[0];
}

const failedTurn = {
  status: 'failed',
  outcome: 'FAILED',
  code: 'not_storable',
  output: '',
  log: ['metadata', 'error', 'metrics', 'done'],
};

test('a turn whose message the store refuses ends as failed, and its session and others go on', async (t) => {
  const { node, sessionId, reports, runs } = await start(t, 'question');
  await run(node.session, randomUUID(), 'hello');
  const [refused, beside, next] = [randomUUID(), randomUUID(), randomUUID()];
  const [types, others] = await Promise.all([
    run(node.session, refused, 'refuse the question'),
    run(node.another(randomUUID()), beside, 'hello'),
  ]);
  t.true(['done', 'elsewhere'].includes(types.at(-1) ?? ''), types.join());
  t.is(others.at(-1), 'done');
  t.deepEqual(await executionOf(refused), { ...failedTurn, attempts: 0 });
  t.false(runs.includes(refused), 'no model was called');
  t.deepEqual(reports, ['storing a turn, which ends as failed']);
  await run(node.session, next, 'hello again');
  t.like(await executionOf(next), { outcome: 'COMPLETED' });
  t.deepEqual(await sessionOf(sessionId), {
    total_turns: 2,
    roles: ['user', 'assistant', 'user', 'assistant'],
    busy: null,
  });
});

test('a turn whose answer the store refuses ends as failed, and asks the model once', async (t) => {
  const { node, sessionId, reports, runs } = await start(t, 'answer');
  const refused = randomUUID();
  const types = await run(node.session, refused, 'refuse the answer');
  t.true(['done', 'elsewhere'].includes(types.at(-1) ?? ''), types.join());
  t.deepEqual(await executionOf(refused), { ...failedTurn, attempts: 1 });
  t.deepEqual(runs, [refused]);
  t.deepEqual(reports, ['storing a turn, which ends as failed']);
  t.deepEqual(await sessionOf(sessionId), { total_turns: 1, roles: ['user'], busy: null });
});

test('the first turn of a session whose message the store refuses ends as failed too', async (t) => {
  const { node, sessionId, runs } = await start(t, 'first');
  const refused = randomUUID();
  const types = await run(node.session, refused, 'refuse the question');
  t.true(['done', 'elsewhere'].includes(types.at(-1) ?? ''), types.join());
  t.deepEqual(await executionOf(refused), { ...failedTurn, attempts: 0 });
  t.deepEqual(runs, []);
  t.deepEqual(await sessionOf(sessionId), { total_turns: 0, roles: null, busy: null });
});

test('a turn that the store does not accept leaves nothing, and its sender is told', async (t) => {
  const { node, sessionId } = await start(t, 'unaccepted');
  const refused = randomUUID();
  const types = await run(node.session, refused, 'refuse the turn');
  t.is(types.length, 5);
  t.true(
    types.every((type) => type.includes('write_rejected')),
    types.join(),
  );
  t.is(await executionOf(refused), undefined);
  t.is(await sessionOf(sessionId), undefined);
});
