/**
 * What a process left behind: unfinished turns, and control modes whose time limit has passed. Both are found by
 * the slots that a node owns; the session's actor does the rest.
 */
import { type DueTimer, slot, type SlotSet, type UnfinishedWork } from '../../../cluster/index.js';
import { z } from 'zod';
import { sql, type Store } from '../../infra/storage/index.js';

export interface UnfinishedTurn extends UnfinishedWork {
  /** As PostgreSQL writes it, to the microsecond. */
  readonly dueAt: string;
  readonly tenantId: string;
  readonly sessionId: string;
}

const turnRow = z.object({
  tenant_id: z.uuid(),
  id: z.uuid(),
  session_id: z.uuid(),
  slot: z.number(),
  attempts: z.number(),
  due_at: z.string(),
});

/**
 * Turns of these slots that another process ran or that gave no sign of life for too long, and those that waited for
 * people until their time was over. Left out are turns behind one that waits: their session has nothing to do, and would
 * be loaded for it again and again. Recovery leaves out the turns that this process works on.
 */
export async function unfinishedTurns(
  store: Store,
  slots: SlotSet,
  process: string,
  limit: number,
  beyond?: Pick<UnfinishedTurn, 'dueAt' | 'id'>,
): Promise<readonly UnfinishedTurn[]> {
  const behind =
    beyond === undefined
      ? sql.fragment`true`
      : sql.fragment`(e.due_at, e.id) > (${beyond.dueAt}::timestamptz, ${beyond.id}::uuid)`;
  const rows = await store.directory((tx) =>
    tx.any(sql.type(turnRow)`
      select e.tenant_id, e.id, e.session_id, e.slot, e.attempts, e.due_at::text as due_at from executions e
      where e.outcome is null and e.session_id is not null
        and get_bit(${sql.binary(Buffer.from(slots.bytes()))}::bytea, e.slot) = 1
        and ((e.status <> 'waiting' and e.worker is distinct from ${process}) or e.due_at <= now()) and ${behind}
        and not (e.status = 'queued' and exists (
          select 1 from executions w
          where w.slot = e.slot and w.outcome is null and w.due_at > now() and w.status = 'waiting'
            and w.tenant_id = e.tenant_id and w.session_id = e.session_id))
      order by e.due_at, e.id limit ${limit}`),
  );
  return rows.map((row) => ({
    id: row.id,
    slot: slot(row.slot),
    // One takeover is normal after the end of a process, so the first retry does not wait.
    attempts: Math.max(0, row.attempts - 1),
    tenantId: row.tenant_id,
    sessionId: row.session_id,
    dueAt: row.due_at,
  }));
}

const expiryRow = z.object({
  tenant_id: z.uuid(),
  id: z.uuid(),
  slot: z.number(),
  control_epoch: z.number(),
  due_in_ms: z.number(),
});
export type ControlExpiry = z.output<typeof expiryRow>;

const expiryColumns = sql.fragment`
  s.tenant_id, s.id, s.slot, s.control_epoch,
  ceil(extract(epoch from s.control_expires_at - clock_timestamp()) * 1000)::float8 as due_in_ms`;

export async function upcomingExpiries(
  store: Store,
  slots: SlotSet,
  horizonMs: number,
  limit: number,
): Promise<readonly DueTimer[]> {
  const rows = await store.directory((tx) =>
    tx.any(sql.type(expiryRow)`
      select ${expiryColumns} from sessions s
      where s.control_expires_at <= clock_timestamp() + ${horizonMs} * interval '1 millisecond'
        and get_bit(${sql.binary(Buffer.from(slots.bytes()))}::bytea, s.slot) = 1
      order by s.control_expires_at limit ${limit}`),
  );
  return rows.map((row) => ({
    id: expiryId(row.tenant_id, row.id),
    slot: slot(row.slot),
    dueInMs: row.due_in_ms,
  }));
}

/** Reads the present row; null if the control mode has no time limit any more. */
export function findExpiry(store: Store, id: string): Promise<ControlExpiry | null> {
  const [tenantId = '', sessionId = ''] = id.split('/');
  return store.directory((tx) =>
    tx.maybeOne(sql.type(expiryRow)`
      select ${expiryColumns} from sessions s
      where s.tenant_id = ${tenantId} and s.id = ${sessionId} and s.control_expires_at is not null`),
  );
}

export function expiryId(tenantId: string, sessionId: string): string {
  return `${tenantId}/${sessionId}`;
}
