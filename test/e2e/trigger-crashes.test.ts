// The rows left by a process that dies at each step of a message, written by hand.
import test from 'ava';
import type pg from 'pg';
import { eventually } from '../support/clocks/eventually.js';
import { startTestNode, type TestNode } from '../support/servers/node.js';
import { tenantOf } from '../support/servers/shared-node.js';
import { ownerView, tenantView } from '../support/database/owner-view.js';
import { answerJson, startToolServer, type ToolServer } from '../support/servers/tool-servers.js';
import { asOwner, createTrigger } from '../support/builders/triggers.js';

interface Step {
  readonly died: string;
  /** Turns the rows of a message that was answered into those of one that got so far. */
  readonly statements: readonly string[];
  /** The chunks that the callback gets from the next node. */
  readonly chunks: readonly string[];
}

const unsent = 'delete from delivery_attempts';
const unfinished =
  "update trigger_inbox set state = 'running', attempts = 1, due_at = now() - interval '1 second'";
const pending = (change: string): string =>
  `update deliveries set status = 'pending', finished_at = null, due_at = now() - interval '2 seconds', ${change}`;

/**
 * An execution that never was: the deletion of one takes its messages along, and marks it as erased. The client works in
 * the role of a tenant.
 */
const triggersOfDeletions = ['forget_inbox', 'remove_parts'];
const neverReceived = [
  'reset role',
  ...triggersOfDeletions.map((name) => `alter table executions disable trigger ${name}`),
  'set role troupe_app',
  'delete from executions',
  'reset role',
  ...triggersOfDeletions.map((name) => `alter table executions enable trigger ${name}`),
  'set role troupe_app',
].join(';');

/** A turn that ran is not refused again: the joined turn was admitted before. */
const noTokensLeft = `update tenants set settings = '{"monthly_tokens": 1}'`;

const steps: readonly Step[] = [
  {
    died: 'after the acknowledgement, before the session had the message',
    statements: ['delete from deliveries', neverReceived, unfinished],
    chunks: ['1', '2'],
  },
  {
    died: 'after the turn, before the answer was put out',
    statements: [
      'delete from deliveries',
      "update executions set delivery_status = 'none'",
      unfinished,
      noTokensLeft,
    ],
    chunks: ['1', '2'],
  },
  {
    died: 'after the answer was put out, before anything was sent',
    statements: [unsent, pending('chunk = 1, attempts = 0')],
    chunks: ['1', '2'],
  },
  {
    died: 'after the answer was put out with its first attempt begun, before anything was sent',
    statements: [
      'delete from delivery_attempts where chunk = 2',
      'update delivery_attempts set finished_at = null, status_code = null',
      pending('chunk = 1, attempts = 1'),
      "update executions set delivery_status = 'pending'",
    ],
    chunks: ['1', '2'],
  },
  {
    died: 'while a chunk was on its way',
    statements: [
      'delete from delivery_attempts where chunk = 2',
      'update delivery_attempts set finished_at = null, status_code = null',
      pending('chunk = 1, attempts = 1'),
    ],
    chunks: ['1', '2'],
  },
  {
    died: 'between two chunks',
    statements: ['delete from delivery_attempts where chunk = 2', pending('chunk = 2, attempts = 0')],
    chunks: ['2'],
  },
  {
    died: 'after the last chunk arrived, before that was recorded',
    statements: [
      'update delivery_attempts set finished_at = null, status_code = null where chunk = 2',
      pending('chunk = 2, attempts = 1'),
    ],
    chunks: ['2'],
  },
  {
    died: 'between two attempts at a chunk',
    statements: [
      'delete from delivery_attempts where chunk = 2',
      'update delivery_attempts set status_code = 503',
      pending('chunk = 1, attempts = 1'),
    ],
    chunks: ['1', '2'],
  },
  {
    died: 'after its buffer was flushed, before the session had the message',
    statements: ['delete from deliveries', neverReceived, `${unfinished} where key like 'buffer:%'`],
    chunks: ['1', '2'],
  },
  {
    died: 'each time after the turn, before the answer was put out,',
    statements: [
      'delete from deliveries',
      "update executions set delivery_status = 'none'",
      unfinished.replace('attempts = 1', 'attempts = 9'),
    ],
    chunks: ['1', '2'],
  },
  {
    died: 'after the turn of a buffer, before the answer was put out',
    statements: [
      'delete from deliveries',
      "update executions set delivery_status = 'none'",
      `${unfinished} where key like 'buffer:%'`,
      noTokensLeft,
    ],
    chunks: ['1', '2'],
  },
  {
    died: 'while the message waited in its buffer',
    statements: [
      'delete from deliveries',
      neverReceived,
      "delete from trigger_inbox where key like 'buffer:%'",
      "update trigger_inbox set state = 'buffered', execution_id = null",
      `insert into trigger_windows (tenant_id, trigger_id, session_id, messages, due_at, look_at)
        select tenant_id, trigger_id, session_id, 1, now() - interval '2 seconds', now() from trigger_inbox`,
    ],
    chunks: ['1', '2'],
  },
];

async function counts(owner: pg.Client) {
  const { rows } = await owner.query<{ executions: number; delivered: number; turns: number }>(`
    select (select count(*)::int from executions where outcome = 'COMPLETED') as executions,
      (select count(*)::int from deliveries where status = 'delivered') as delivered,
      (select count(*)::int from executions where delivery_status = 'delivered') as turns`);
  return rows[0];
}

interface Left extends Step {
  readonly message: string;
  readonly receiver: ToolServer;
  /** The rows of the tenant. */
  readonly rows: pg.Client;
  /** What the receiver had heard when the process died. */
  readonly before: number;
}

/** Who is left with what, by the step at which the process died. All have the same process, and the next one. */
const left = new Map<string, Left>();
const endings: (() => Promise<void>)[] = [];
const atEnd = { teardown: (fn: () => Promise<void>) => void endings.push(fn) };

test.serial.before(
  'a process answers a message of each tenant and dies, and the next one starts',
  async (t) => {
    const first = await startTestNode(atEnd, { environment: { TROUPE_TRUSTED_PROXIES: '127.0.0.0/8' } });
    await Promise.all(steps.map(async (step) => left.set(step.died, await answered(first, step))));
    await first.stop();
    for (const { died, rows, statements } of left.values()) {
      for (const statement of statements) await rows.query(statement);
      const { turns, delivered } = (await counts(rows)) ?? {};
      t.false(turns === 1 && delivered === 1, `${died}: it was undone`);
    }
    await startTestNode(atEnd, { databaseUrl: first.databaseUrl, dataDir: first.dataDir });
  },
);

test.serial.after.always('the processes are gone', async () => {
  for (const ending of endings.toReversed()) await ending();
});

async function answered(node: TestNode, step: Step): Promise<Left> {
  const receiver = await startToolServer(atEnd, (_request, response) => answerJson(response, {}));
  const tenant = await tenantOf(node, step.died);
  const trigger = await createTrigger(tenant, {
    auth: { type: 'none' },
    session_strategy: { mode: 'derive', fields: ['user'] },
    execution: {
      mode: 'async',
      callback: { url: receiver.url },
      split_config: { enabled: true, max_chunk_size: 100, inter_chunk_delay_ms: 0 },
      message_buffer: { enabled: step.died.includes('buffer'), window_ms: 100 },
    },
  });
  const message = `${'a'.repeat(80)} ${'b'.repeat(80)}`;
  await tenant.client.call('POST', trigger.path, { body: { user: 'ada', message } });
  const rows = await tenantView(tenant);
  atEnd.teardown(() => rows.end());
  await eventually(async () => (await counts(rows))?.turns === 1);
  const before = receiver.heard.length;
  if (before !== 2) throw new Error(`${step.died}: ${before} chunks instead of 2`);
  return { ...step, message, receiver, rows, before };
}

for (const { died, chunks } of steps) {
  test(`a process that died ${died} leaves nothing undone and nothing done twice`, async (t) => {
    const found = left.get(died);
    if (found === undefined) throw new Error('the hook has not run');
    const { rows, receiver, before, message } = found;
    await eventually(async () => (await counts(rows))?.turns === 1 && (await counts(rows))?.delivered === 1);
    t.deepEqual(await counts(rows), { executions: 1, delivered: 1, turns: 1 });
    const executions = await rows.query<{ id: string; message: string }>(
      "select id, input ->> 'message' as message from executions",
    );
    const [execution] = executions.rows;
    t.deepEqual(
      receiver.heard.slice(before).map(({ headers }) => headers['idempotency-key']),
      chunks.map((chunk) => `${execution?.id}:${chunk}`),
    );
    t.is(execution?.message, message);
  });
}

test.serial('a message that ended several processes is given up and reported', async (t) => {
  const first = await startTestNode(t);
  const trigger = await createTrigger(first, {
    auth: { type: 'none' },
    execution: { mode: 'async', callback: { url: 'http://127.0.0.1:9/' } },
  });
  await first.client.call('POST', trigger.path, { body: { message: 'deadly' } });
  const owner = await ownerView(first.databaseUrl);
  t.teardown(() => owner.end());
  await eventually(async () => (await counts(owner))?.executions === 1);
  await eventually(async () => {
    const { rows } = await owner.query<{ state: string }>('select state from trigger_inbox');
    return rows[0]?.state === 'done';
  });
  await first.stop();
  await owner.query('delete from deliveries');
  for (const name of triggersOfDeletions) await owner.query(`alter table executions disable trigger ${name}`);
  await owner.query('delete from executions');
  for (const name of triggersOfDeletions) await owner.query(`alter table executions enable trigger ${name}`);
  await owner.query(unfinished.replace('attempts = 1', 'attempts = 9'));

  await startTestNode(t, { databaseUrl: first.databaseUrl, dataDir: first.dataDir });
  const given = await eventually(async () => {
    const { rows } = await owner.query<{ status: string; code: string; state: string; message: string }>(`
        select e.status, e.error ->> 'code' as code, i.state, e.input ->> 'message' as message
        from executions e join trigger_inbox i on i.execution_id = e.id`);
    return rows[0];
  });
  t.deepEqual(given, { status: 'failed', code: 'worker_lost', state: 'done', message: 'deadly' });
});

test.serial('an answer that ends every process fails, and the next ones arrive', async (t) => {
  const receiver = await startToolServer(t, (_request, response) => answerJson(response, {}));
  const first = await startTestNode(t);
  const trigger = await createTrigger(first, {
    auth: { type: 'none' },
    session_strategy: { mode: 'derive', fields: ['user'] },
    execution: { mode: 'async', callback: { url: receiver.url } },
  });
  const owner = await ownerView(first.databaseUrl);
  t.teardown(() => owner.end());
  const ids: string[] = [];
  for (const message of ['one', 'two']) {
    const { json } = await first.client.call('POST', trigger.path, { body: { user: 'ada', message } });
    ids.push(json.execution_id);
    await eventually(async () => (await counts(owner))?.turns === ids.length);
  }
  await first.stop();
  const before = receiver.heard.length;
  await owner.query(
    `${pending('chunk = 1, attempts = case when execution_id = $1 then 5 else 0 end')} where execution_id = any ($2)`,
    [ids[0], ids],
  );
  await owner.query(`update executions set delivery_status = 'pending'`);
  const keysHeard = () => receiver.heard.slice(before).map(({ headers }) => headers['idempotency-key']);
  const fates = async () => {
    const { rows } = await owner.query<{ fate: string }>(
      'select delivery_status as fate from executions order by created_at',
    );
    return rows.map(({ fate }) => fate).join();
  };

  const second = await startTestNode(t, { databaseUrl: first.databaseUrl, dataDir: first.dataDir });
  await eventually(async () => (await fates()) === 'delivery_failed,delivered');
  t.deepEqual(keysHeard(), [`${ids[1]}:1`]);
  const { json: failed } = await asOwner(second, 'GET', '/api/v1/deliveries?status=dead');
  t.is(failed.count, 1);
  const { status, text } = await asOwner(second, 'POST', `/api/v1/deliveries/${failed.data[0].id}/replay`);
  t.is(status, 200, text);
  await eventually(async () => (await fates()) === 'delivered,delivered');
  t.deepEqual(keysHeard(), [`${ids[1]}:1`, `${ids[0]}:1`]);
});
