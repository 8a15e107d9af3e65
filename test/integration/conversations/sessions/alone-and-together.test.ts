// Single rows and batches use different statements, which must store the same.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import {
  activationId,
  actorAddress,
  actorKind,
  clusterConfig,
  type FencedWrite,
  PostgresFenceStore,
  revision,
  slot,
  systemTime,
} from '../../../../cluster/index.js';
import type { ExecutionRow, SessionRow, SessionWrite } from '../../../../src/conversations/sessions/rows.js';
import { sessionTables } from '../../../../src/conversations/sessions/session.store.js';
import { databaseOfFile, databaseConnectMs } from '../../../support/database/database.js';
import { ownerView } from '../../../support/database/owner-view.js';
import { echoingAgent } from '../../../support/servers/session-node.js';
import { startTurns } from '../../../support/builders/turns.js';

const database = databaseOfFile(test);
const moment = '2026-11-22T10:00:00.123Z';
const awkward = `"quoted", \\back\\slashed, {braced}, NULL, 'single' and 👋 in\ntwo lines`;

/** All possible writes of a turn of a separate session, in each kind of column. */
function wholeTurn(tenant: string, agent: string, id: string): SessionWrite {
  const execution = randomUUID();
  const session: SessionRow = {
    tenant_id: tenant,
    id,
    agent_id: agent,
    slot: 7,
    consumer_key: awkward,
    consumer_display_name: null,
    has_several: false,
    channel: 'chat',
    started_by: { kind: 'consumer', id: awkward },
    metadata: { said: awkward, list: [1, 'two', null], nothing: null },
    control_mode: 'engaged',
    control_kind: null,
    control_reason: null,
    control_by: null,
    control_since: null,
    control_expires_at: null,
    control_epoch: 2 ** 40,
    summary: '',
    summary_to: 0,
    last_arrival: 1,
    last_message: 1,
    total_turns: 1,
    created_at: moment,
    last_interaction: moment,
  };
  const running: ExecutionRow = {
    tenant_id: tenant,
    id: execution,
    session_id: id,
    agent_id: agent,
    agent_version: null,
    trigger_id: null,
    slot: 7,
    arrival: 1,
    channel: 'chat',
    key_id: null,
    user_id: null,
    status: 'completed',
    outcome: 'COMPLETED',
    attempts: 1,
    worker: 'a process',
    due_at: moment,
    cancelled_by: null,
    input: {
      message: awkward,
      author: { kind: 'consumer', id: awkward },
      declared_context: null,
      accepted_fields: ['message'],
      ignored_fields: [{ field: 'x', reason: awkward }],
      quick_replies: false,
      role: 'member',
      needs_bindings: false,
      deadline_ms: 1_000,
    },
    sealed_bindings: null,
    sealed_input: null,
    metadata: { trace_id: 'a trace' },
    output: awkward,
    parsed: { text: awkward },
    blocks: [{ type: 'quick_replies', data: { labels: [awkward, 'NULL'] } }],
    model: 'sim.echo',
    provider: 'sim',
    usage: { input_tokens: 1, output_tokens: 2, total_tokens: 3 },
    cost: 0.1 + 0.2,
    latency_ms: 12,
    first_token_ms: null,
    tool_calls: 0,
    timeout_clock: null,
    error: null,
    created_at: moment,
    started_at: null,
    finished_at: moment,
  };
  return {
    session,
    executions: [running],
    messages: [
      {
        tenant_id: tenant,
        session_id: id,
        number: 1,
        id: randomUUID(),
        role: 'user',
        author: { kind: 'consumer', id: awkward },
        content: awkward,
        attachments: [],
        declared_context: null,
        metadata: {},
        execution_id: execution,
        created_at: moment,
      },
    ],
    steps: [
      {
        tenant_id: tenant,
        execution_id: execution,
        number: 1,
        kind: 'model',
        name: awkward,
        state: 'finished',
        detail: { step: 'model', parts: [{ type: 'text', text: awkward }] },
        started_at: moment,
        finished_at: moment,
      },
    ],
    logs: [
      {
        tenant_id: tenant,
        execution_id: execution,
        events: [{ id: 2 ** 40, type: 'phase', data: '{"type":"phase"}' }],
        expires_at: moment,
      },
    ],
  };
}

test('a single write is stored like one of a batch, and also reports an ended turn', async (t) => {
  const bench = await startTurns(database);
  const view = await ownerView(database.url);
  t.teardown(() => view.end());
  const config = clusterConfig();
  const store = new PostgresFenceStore(sessionTables, {
    databaseUrl: database.url,
    role: 'troupe_writer',
    statementTimeoutMs: config.statementTimeoutMs,
    connectTimeoutMs: databaseConnectMs,
    time: systemTime,
  });
  t.teardown(() => store.close());
  const tenant = bench.scope.tenantId;
  const agent = await echoingAgent(bench);
  const writing = async (): Promise<FencedWrite<SessionWrite>> => {
    const id = randomUUID();
    const activated = await store.activate({
      address: actorAddress(actorKind('test.Session'), tenant, id),
      slot: slot(7),
      activationId: activationId(id),
      ignoreStampsOf: () => false,
      load: { tenantId: tenant, sessionId: id },
    });
    if (activated.outcome !== 'activated') throw new Error('busy');
    return { fence: activated.fence, stamp: undefined, write: wholeTurn(tenant, agent.id, id) };
  };
  const [alone, one, other] = [await writing(), await writing(), await writing()];
  const written = [...(await store.write([alone])), ...(await store.write([one, other]))];
  t.deepEqual(
    written.map(({ outcome }) => outcome),
    ['written', 'written', 'written'],
  );

  const stored = async ({ fence }: FencedWrite<SessionWrite>): Promise<object> => {
    const { rows } = await view.query<{ row: object }>(
      `select jsonb_build_object(
         'session', (select to_jsonb(s) - 'id' from sessions s where s.id = $1),
         'message', (select to_jsonb(m) - array['id', 'session_id', 'execution_id'] from messages m
           where m.session_id = $1),
         'execution', (select to_jsonb(e) - array['id', 'session_id'] from executions e where e.session_id = $1),
         'step', (select to_jsonb(x) - 'execution_id' from execution_steps x
           where x.execution_id = (select id from executions where session_id = $1)),
         'log', (select to_jsonb(l) - 'execution_id' from execution_logs l
           where l.execution_id = (select id from executions where session_id = $1))) as row`,
      [fence.address.key],
    );
    return rows[0]?.row ?? {};
  };
  const first = await stored(alone);
  t.deepEqual(await stored(one), first);
  t.like(first, {
    session: { consumer_key: awkward, metadata: { said: awkward, list: [1, 'two', null] }, summary: '' },
    message: { content: awkward, declared_context: null },
    execution: {
      parsed: { text: awkward },
      blocks: [{ data: { labels: [awkward, 'NULL'] } }],
      cost: 0.1 + 0.2,
      error: null,
    },
    step: { detail: { parts: [{ text: awkward }] } },
    log: { events: [{ id: 2 ** 40 }] },
  });

  const again = async (batch: readonly FencedWrite<SessionWrite>[]): Promise<readonly unknown[]> => {
    const outcomes = await store.write(
      batch.map((write) => ({
        ...write,
        fence: { ...write.fence, revision: revision(write.fence.revision + 1) },
      })),
    );
    return outcomes.map((answer) =>
      answer.outcome === 'written' ? [...(answer.result?.finishedBefore ?? [])] : answer.outcome,
    );
  };
  const endedIn = ({ write }: FencedWrite<SessionWrite>): readonly string[] => [
    write?.executions?.[0]?.id ?? '',
  ];
  t.deepEqual(await again([alone]), [endedIn(alone)]);
  t.deepEqual(await again([one, other]), [endedIn(one), endedIn(other)]);
});
