// The rows of sessions in a simulated store, equivalent to their SQL (`test/integration/conversations/sessions/simulated-store.test.ts`).
import { slot, type SlotSet } from '../../../cluster/index.js';
import type { Fence } from '../../../cluster/fencing/fence.js';
import type { MemoryTables } from '../../../cluster/simulation/fence-store.js';
import type { UnfinishedTurn } from '../../../src/conversations/sessions/recovery.store.js';
import type {
  ExecutionRow,
  LogRow,
  MessageRow,
  SessionLoad,
  SessionLoaded,
  SessionRow,
  SessionWrite,
  SessionWritten,
  StepRow,
} from '../../../src/conversations/sessions/rows.js';
import type { UsageTables } from './usage-tables.js';

/** As many as the actor loads. */
const tailMessages = 60;
/** The columns of an existing session that a write leaves as they are. */
const fixedOfSession = ['agent_id', 'channel', 'created_at'] as const;
const fixedOfExecution = [
  'session_id',
  'agent_id',
  'trigger_id',
  'channel',
  'key_id',
  'user_id',
  'metadata',
  'created_at',
] as const satisfies readonly (keyof ExecutionRow)[];
/** A later write of these only sets them to null. */
const cleared = ['sealed_input', 'sealed_bindings'] as const;
/** Parts of a write that the simulated load does not make. */
const unknownParts = ['participants', 'approvals', 'facts', 'attachments', 'erasedPeople', 'erase'] as const;

type Maps = { readonly [Name in 'sessions']: Map<string, SessionRow> } & {
  readonly messages: Map<string, MessageRow>;
  readonly executions: Map<string, ExecutionRow>;
  readonly steps: Map<string, StepRow>;
  readonly logs: Map<string, LogRow>;
};

export class SessionTables implements MemoryTables<SessionLoad, SessionLoaded, SessionWrite, SessionWritten> {
  readonly rows: Maps = {
    sessions: new Map(),
    messages: new Map(),
    executions: new Map(),
    steps: new Map(),
    logs: new Map(),
  };
  /** The keys of executions that had an outcome at some time. */
  readonly ended = new Set<string>();
  /** The most unfinished executions that one session had. */
  longestQueue = 0;
  /** Called with each message that another one of the same number keeps out. */
  onLostMessage: (message: MessageRow) => void = () => undefined;
  /** Called when a session changes hands. */
  onControl: (tenantId: string) => void = () => undefined;
  readonly #usage: UsageTables;
  readonly #nowMs: () => number;
  readonly #reopens: boolean;

  /** `reopens`: a planted bug, an outcome is not final. */
  constructor(usage: UsageTables, nowMs: () => number, reopens = false) {
    this.#usage = usage;
    this.#nowMs = nowMs;
    this.#reopens = reopens;
  }

  copy(): () => void {
    const restores = Object.values(this.rows).map((map: Map<string, unknown>) => {
      const entries = [...map];
      return () => {
        map.clear();
        for (const [key, row] of entries) map.set(key, row);
      };
    });
    return () => {
      for (const restore of restores) restore();
    };
  }

  load({ tenantId, sessionId }: SessionLoad): SessionLoaded {
    const { sessions, messages, executions, steps } = this.rows;
    const unfinished = [...executions.values()]
      .filter((row) => isOf(row, tenantId, sessionId) && row.outcome === null)
      .toSorted((one, other) => one.arrival - other.arrival);
    const ids = new Set(unfinished.map(({ id }) => id));
    return plain({
      session: sessions.get(keyOf(tenantId, sessionId)),
      messages: [...messages.values()]
        .filter((row) => isOf(row, tenantId, sessionId))
        .toSorted((one, other) => one.number - other.number)
        .slice(-tailMessages),
      unfinished,
      steps: [...steps.values()]
        .filter(({ tenant_id: tenant, execution_id: id }) => tenant === tenantId && ids.has(id))
        .toSorted((one, other) => one.number - other.number),
      approvals: [],
    });
  }

  apply(write: SessionWrite, _fence: Fence): SessionWritten {
    for (const part of unknownParts) {
      const rows = write[part];
      if (rows === undefined || (Array.isArray(rows) && rows.length === 0)) continue;
      throw new Error(`the simulated store has no table for ${part} of a session`);
    }
    const finishedBefore = new Set<string>();
    if (write.session !== undefined) this.#session(plain(write.session));
    for (const row of write.messages ?? []) this.#message(plain(row));
    for (const row of write.executions ?? []) if (!this.#execution(plain(row))) finishedBefore.add(row.id);
    for (const row of write.steps ?? []) this.#step(plain(row));
    for (const row of write.logs ?? [])
      this.rows.logs.set(keyOf(row.tenant_id, row.execution_id), plain(row));
    for (const row of write.opened ?? []) this.#usage.open(row);
    return { finishedBefore };
  }

  /** As recovery asks for them. */
  unfinished(
    slots: SlotSet,
    process: string,
    limit: number,
    beyond?: Pick<UnfinishedTurn, 'dueAt' | 'id'>,
  ): readonly UnfinishedTurn[] {
    return [...this.rows.executions.values()]
      .filter(
        (row) =>
          row.outcome === null &&
          row.session_id !== null &&
          slots.has(slot(row.slot)) &&
          ((row.status !== 'waiting' && row.worker !== process) || Date.parse(row.due_at) <= this.#nowMs()) &&
          !(row.status === 'queued' && this.#waits(row)),
      )
      .map((row) => ({
        id: row.id,
        slot: slot(row.slot),
        attempts: Math.max(0, row.attempts - 1),
        tenantId: row.tenant_id,
        sessionId: row.session_id ?? '',
        dueAt: row.due_at,
      }))
      .toSorted(inOrder)
      .filter((turn) => beyond === undefined || inOrder(turn, beyond) > 0)
      .slice(0, limit);
  }

  /** Whether the turn is behind one that waits for people. */
  #waits({ tenant_id: tenant, session_id: session, slot: place }: ExecutionRow): boolean {
    return [...this.rows.executions.values()].some(
      (row) =>
        row.slot === place &&
        row.tenant_id === tenant &&
        row.session_id === session &&
        row.outcome === null &&
        row.status === 'waiting' &&
        Date.parse(row.due_at) > this.#nowMs(),
    );
  }

  #session(row: SessionRow): void {
    const key = keyOf(row.tenant_id, row.id);
    const before = this.rows.sessions.get(key);
    this.rows.sessions.set(key, before === undefined ? row : { ...row, ...only(before, fixedOfSession) });
    if (before !== undefined && before.control_mode !== row.control_mode) this.onControl(row.tenant_id);
  }

  #message(row: MessageRow): void {
    const key = `${keyOf(row.tenant_id, row.session_id)} ${row.number}`;
    const before = this.rows.messages.get(key);
    if (before === undefined) this.rows.messages.set(key, row);
    else if (before.id !== row.id) this.onLostMessage(row);
  }

  /** False if the execution has an outcome already. */
  #execution(row: ExecutionRow): boolean {
    const key = keyOf(row.tenant_id, row.id);
    const before = this.rows.executions.get(key);
    if (row.outcome !== null) this.ended.add(key);
    if (before === undefined) {
      this.rows.executions.set(key, row);
      this.longestQueue = Math.max(this.longestQueue, this.#unfinishedOf(row));
      return true;
    }
    if (before.outcome !== null && !this.#reopens) return false;
    const sealed = Object.fromEntries(
      cleared.map((name) => [name, row[name] === null ? null : (before[name] ?? row[name])]),
    );
    this.rows.executions.set(key, { ...row, ...only(before, fixedOfExecution), ...sealed });
    return true;
  }

  #unfinishedOf({ tenant_id: tenant, session_id: session }: ExecutionRow): number {
    let count = 0;
    for (const row of this.rows.executions.values())
      if (row.outcome === null && isOf(row, tenant, session ?? '')) count += 1;
    return count;
  }

  #step(row: StepRow): void {
    const key = `${keyOf(row.tenant_id, row.execution_id)} ${row.number}`;
    const before = this.rows.steps.get(key);
    const { state, detail, finished_at } = row;
    this.rows.steps.set(key, before === undefined ? row : { ...before, state, detail, finished_at });
  }
}

export function keyOf(tenantId: string, id: string): string {
  return `${tenantId} ${id}`;
}

function isOf(
  row: { readonly tenant_id: string; readonly session_id: string | null },
  tenantId: string,
  sessionId: string,
): boolean {
  return row.tenant_id === tenantId && row.session_id === sessionId;
}

function inOrder(
  one: Pick<UnfinishedTurn, 'dueAt' | 'id'>,
  other: Pick<UnfinishedTurn, 'dueAt' | 'id'>,
): number {
  const byTime = Date.parse(one.dueAt) - Date.parse(other.dueAt);
  if (byTime !== 0) return byTime;
  return one.id < other.id ? -1 : Number(one.id > other.id);
}

function only<Row extends object, Name extends keyof Row>(row: Row, names: readonly Name[]): Pick<Row, Name> {
  return Object.fromEntries(names.map((name) => [name, row[name]])) as Pick<Row, Name>;
}

/** As a row comes back from the store. */
function plain<Value>(value: Value): Value {
  return JSON.parse(JSON.stringify(value)) as Value;
}
