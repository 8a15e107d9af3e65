/**
 * The actor's side of the store: what it loads when it begins, and how the writes of many sessions become a few
 * statements of one transaction.
 */
import type { PostgresTables } from '../../../cluster/index.js';
import { bindStatement } from '../attachments/index.js';
import { factsStatement, touchStatement } from '../consumers/index.js';
import { realtimeStatement } from '../realtime/index.js';
import { openedTable } from '../../models/usage/index.js';
import { combinedWrite } from './combined-write.js';
import { bytesOfWrite } from './write-bytes.js';
import { listed, type RowsStatement, type Table, upsert } from './row-statements.js';
import { textBytesMax } from '../../infra/storage/index.js';
import type {
  ApprovalRow,
  ExecutionRow,
  MessageRow,
  SessionLoad,
  SessionLoaded,
  SessionRow,
  SessionWrite,
  SessionWritten,
  StepRow,
} from './rows.js';

const sessions: Table = {
  name: 'sessions',
  columns: {
    tenant_id: 'uuid',
    id: 'uuid',
    agent_id: 'uuid',
    slot: 'int',
    consumer_key: 'text',
    consumer_display_name: 'text',
    has_several: 'boolean',
    channel: 'text',
    started_by: 'jsonb',
    metadata: 'jsonb',
    control_mode: 'text',
    control_kind: 'text',
    control_reason: 'text',
    control_by: 'text',
    control_since: 'timestamptz',
    control_expires_at: 'timestamptz',
    control_epoch: 'bigint',
    summary: 'text',
    summary_to: 'bigint',
    last_arrival: 'bigint',
    last_message: 'bigint',
    total_turns: 'bigint',
    created_at: 'timestamptz',
    last_interaction: 'timestamptz',
  },
  key: ['tenant_id', 'id'],
  changes: [
    'slot',
    'consumer_key',
    'consumer_display_name',
    'has_several',
    'started_by',
    'metadata',
    'control_mode',
    'control_kind',
    'control_reason',
    'control_by',
    'control_since',
    'control_expires_at',
    'control_epoch',
    'summary',
    'summary_to',
    'last_arrival',
    'last_message',
    'total_turns',
    'last_interaction',
  ],
};

const participants: Table = {
  name: 'session_participants',
  columns: { tenant_id: 'uuid', session_id: 'uuid', consumer_key: 'text', joined_at: 'timestamptz' },
  key: ['tenant_id', 'consumer_key', 'session_id'],
  changes: [],
};

const messages: Table = {
  name: 'messages',
  columns: {
    tenant_id: 'uuid',
    session_id: 'uuid',
    number: 'bigint',
    id: 'uuid',
    role: 'text',
    author: 'jsonb',
    content: 'text',
    attachments: 'jsonb',
    declared_context: 'jsonb',
    metadata: 'jsonb',
    execution_id: 'uuid',
    created_at: 'timestamptz',
  },
  key: ['tenant_id', 'session_id', 'number'],
  changes: [],
};

const executions: Table = {
  name: 'executions',
  columns: {
    tenant_id: 'uuid',
    id: 'uuid',
    session_id: 'uuid',
    agent_id: 'uuid',
    agent_version: 'int',
    trigger_id: 'uuid',
    slot: 'int',
    arrival: 'bigint',
    channel: 'text',
    key_id: 'uuid',
    user_id: 'uuid',
    status: 'text',
    outcome: 'text',
    attempts: 'int',
    worker: 'text',
    due_at: 'timestamptz',
    cancelled_by: 'text',
    input: 'jsonb',
    sealed_input: 'text',
    sealed_bindings: 'text',
    metadata: 'jsonb',
    output: 'text',
    blocks: 'jsonb',
    parsed: 'jsonb',
    model: 'text',
    provider: 'text',
    usage: 'jsonb',
    cost: 'float8',
    latency_ms: 'int',
    first_token_ms: 'int',
    tool_calls: 'int',
    timeout_clock: 'text',
    error: 'jsonb',
    created_at: 'timestamptz',
    started_at: 'timestamptz',
    finished_at: 'timestamptz',
  },
  key: ['tenant_id', 'id'],
  changes: [
    'agent_version',
    'slot',
    'arrival',
    'status',
    'outcome',
    'attempts',
    'worker',
    'due_at',
    'cancelled_by',
    'input',
    'output',
    'blocks',
    'parsed',
    'model',
    'provider',
    'usage',
    'cost',
    'latency_ms',
    'first_token_ms',
    'tool_calls',
    'timeout_clock',
    'error',
    'started_at',
    'finished_at',
  ],
  clears: ['sealed_input', 'sealed_bindings'],
  // An outcome is final.
  guard: 'executions.outcome is null',
  returning: 'executions.id::text',
};

const steps: Table = {
  name: 'execution_steps',
  columns: {
    tenant_id: 'uuid',
    execution_id: 'uuid',
    number: 'int',
    kind: 'text',
    name: 'text',
    state: 'text',
    detail: 'jsonb',
    started_at: 'timestamptz',
    finished_at: 'timestamptz',
  },
  key: ['tenant_id', 'execution_id', 'number'],
  changes: ['state', 'detail', 'finished_at'],
};

const logs: Table = {
  name: 'execution_logs',
  columns: { tenant_id: 'uuid', execution_id: 'uuid', events: 'jsonb', expires_at: 'timestamptz' },
  key: ['tenant_id', 'execution_id'],
  changes: ['events', 'expires_at'],
};

const approvals: Table = {
  name: 'approvals',
  columns: {
    tenant_id: 'uuid',
    id: 'uuid',
    session_id: 'uuid',
    execution_id: 'uuid',
    place: 'text',
    call_id: 'text',
    tool: 'text',
    parameters: 'jsonb',
    sealed_arguments: 'text',
    sealed_edit: 'text',
    status: 'text',
    decided_by: 'text',
    reason: 'text',
    decided_at: 'timestamptz',
    created_at: 'timestamptz',
    expires_at: 'timestamptz',
  },
  key: ['tenant_id', 'id'],
  changes: ['sealed_edit', 'status', 'decided_by', 'reason', 'decided_at'],
  // A decision is final.
  guard: "approvals.status = 'pending'",
};

const statements = {
  sessions: upsert(sessions),
  participants: upsert(participants),
  messages: upsert(messages),
  executions: upsert(executions),
  steps: upsert(steps),
  logs: upsert(logs),
  approvals: upsert(approvals),
  opened: upsert(openedTable),
  touches: listed(touchStatement),
  facts: listed(factsStatement),
  attachments: listed(bindStatement),
  erasedPeople: listed({
    name: 'session_erase_people',
    text: 'select erase_from_sessions($1::jsonb)',
  }),
  erasedExecutions: listed({
    name: 'session_erase_executions',
    text: `delete from executions e using jsonb_to_recordset($1::jsonb) as w (tenant_id uuid, id uuid)
      where e.tenant_id = w.tenant_id and e.session_id = w.id`,
  }),
  erasedSessions: listed({
    name: 'session_erase',
    text: `delete from sessions s using jsonb_to_recordset($1::jsonb) as w (tenant_id uuid, id uuid)
      where s.tenant_id = w.tenant_id and s.id = w.id`,
  }),
  realtimeEvents: listed(realtimeStatement),
} as const;

/** As many as the longest memory window; older messages are in the summary or not remembered. */
export const loadedMessagesMax = 1_000;
/** Loaded at first: most agents remember far less. */
const tailMessages = 60;

const isUnfinished = 'e.tenant_id = $1 and e.session_id = $2 and e.outcome is null';

/**
 * Steps and approvals are found by an array of executions rather than by a join: while statistics say that the tables
 * are empty, the planner would join all steps of the tenant with all its executions, 6 s for 3,000 turns.
 */
const load = {
  name: 'session_load',
  text: `select
    (select to_jsonb(s) from sessions s where s.tenant_id = $1 and s.id = $2) as session,
    (select coalesce(jsonb_agg(to_jsonb(m) - 'bytes' order by m.number), '[]') from (
      select l.*, sum(octet_length(l.content)) over (order by l.number desc rows unbounded preceding) as bytes from (
        select * from messages where tenant_id = $1 and session_id = $2 order by number desc limit ${tailMessages}
      ) l
    ) m where m.bytes - octet_length(m.content) < ${textBytesMax}) as messages,
    (select coalesce(jsonb_agg(to_jsonb(e) order by e.arrival), '[]') from executions e
      where ${isUnfinished}) as unfinished,
    (select coalesce(jsonb_agg(to_jsonb(x) order by x.number), '[]') from execution_steps x
      where x.tenant_id = $1 and x.execution_id = any(array(select e.id from executions e where ${isUnfinished}))) as steps,
    (select coalesce(jsonb_agg(to_jsonb(a) order by a.created_at, a.place), '[]') from approvals a
      where a.tenant_id = $1 and a.execution_id = any(array(select e.id from executions e where ${isUnfinished}))) as approvals`,
};

/** The statements follow the foreign keys: a session before its messages, an execution before its steps. */
export const sessionTables: PostgresTables<SessionLoad, SessionLoaded, SessionWrite, SessionWritten> = {
  load: ({ tenantId, sessionId }) => ({ ...load, values: [tenantId, sessionId] }),
  loaded: ([row]) => ({
    session: (row?.['session'] as SessionRow | null) ?? undefined,
    messages: (row?.['messages'] ?? []) as readonly MessageRow[],
    unfinished: (row?.['unfinished'] ?? []) as readonly ExecutionRow[],
    steps: (row?.['steps'] ?? []) as readonly StepRow[],
    approvals: (row?.['approvals'] ?? []) as readonly ApprovalRow[],
  }),
  combine: combinedWrite,
  bytesOf: bytesOfWrite,
  write: (writes) => partsOf(writes).map(({ statement, rows }) => statement(rows)),
  results(writes, answers) {
    const place = partsOf(writes).findIndex(({ statement }) => statement === statements.executions);
    const written = new Set((answers[place] ?? []).map((row) => String(row['id'])));
    return writes.map(({ executions: given = [] }) => ({
      finishedBefore: new Set(given.map(({ id }) => id).filter((id) => !written.has(id))),
    }));
  },
};

interface PartRows {
  readonly statement: RowsStatement;
  readonly rows: readonly object[];
}

function partsOf(writes: readonly SessionWrite[]): readonly PartRows[] {
  const all = <Row>(pick: (write: SessionWrite) => readonly Row[] | undefined): Row[] =>
    writes.flatMap((write) => pick(write) ?? []);
  const eraseds = all((write) => (write.erase === undefined ? undefined : [write.erase]));
  const parts: readonly PartRows[] = [
    { statement: statements.sessions, rows: all((w) => (w.session === undefined ? undefined : [w.session])) },
    { statement: statements.participants, rows: all((write) => write.participants) },
    { statement: statements.messages, rows: all((write) => write.messages) },
    { statement: statements.executions, rows: all((write) => write.executions) },
    { statement: statements.steps, rows: all((write) => write.steps) },
    { statement: statements.logs, rows: all((write) => write.logs) },
    { statement: statements.approvals, rows: all((write) => write.approvals) },
    { statement: statements.opened, rows: all((write) => write.opened) },
    { statement: statements.touches, rows: all((write) => write.touches) },
    { statement: statements.facts, rows: all((write) => write.facts) },
    { statement: statements.attachments, rows: all((write) => write.attachments) },
    { statement: statements.erasedPeople, rows: all((write) => write.erasedPeople) },
    { statement: statements.erasedExecutions, rows: eraseds },
    { statement: statements.erasedSessions, rows: eraseds },
    // Last, because recorders of changes wait for each other from here to the commit.
    { statement: statements.realtimeEvents, rows: all((write) => write.realtimeEvents) },
  ];
  return parts.filter(({ rows }) => rows.length > 0);
}
