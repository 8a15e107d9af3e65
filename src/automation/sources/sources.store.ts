import { z } from 'zod';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import { type DirectoryTransaction, sql, type TenantTransaction } from '../../infra/storage/index.js';

export type SourceKind = 'schedule' | 'email' | 'db_event';

export interface Arming {
  readonly triggerId: string;
  readonly kind: SourceKind;
  /** Undefined keeps what is there. */
  readonly state: object | undefined;
  /** For one that is looked at for the first time. */
  readonly firstState?: object | undefined;
  /** Undefined: switched off. */
  readonly dueAt: Date | undefined;
}

export async function armSource(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  { triggerId, kind, state, firstState = {}, dueAt }: Arming,
): Promise<void> {
  const due = dueAt === undefined ? sql.fragment`'infinity'::timestamptz` : sql.timestamp(dueAt);
  const json = state === undefined ? null : JSON.stringify(state);
  await tx.query(sql.typeAlias('nothing')`
    insert into trigger_sources (tenant_id, trigger_id, kind, state, due_at)
    values (${tenantId}, ${triggerId}, ${kind}, coalesce(${json}::jsonb, ${JSON.stringify(firstState)}::jsonb), ${due})
    on conflict (tenant_id, trigger_id) do update
      set state = coalesce(${json}::jsonb, trigger_sources.state), due_at = excluded.due_at, failures = 0,
        last_error = null`);
}

/**
 * Of a schedule. While it stays switched on with the same times it goes on where it was: a change of its name must not
 * swallow a firing that is due and not yet noticed.
 */
export async function armSchedule(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  { triggerId, state, dueAt }: Pick<Arming, 'triggerId' | 'dueAt'> & { readonly state: object },
): Promise<void> {
  const due = dueAt === undefined ? sql.fragment`'infinity'::timestamptz` : sql.timestamp(dueAt);
  const goesOn = sql.fragment`s.state -> 'about' = excluded.state -> 'about' and s.due_at < 'infinity'
    and excluded.due_at < 'infinity'`;
  await tx.query(sql.typeAlias('nothing')`
    insert into trigger_sources as s (tenant_id, trigger_id, kind, state, due_at)
    values (${tenantId}, ${triggerId}, 'schedule', ${JSON.stringify(state)}::jsonb, ${due})
    on conflict (tenant_id, trigger_id) do update
      set state = case when ${goesOn} then s.state || jsonb_build_object('revision', excluded.state -> 'revision')
          else excluded.state end,
        due_at = case when ${goesOn} then s.due_at else excluded.due_at end, failures = 0, last_error = null`);
}

export function storeNow(tx: TenantTransaction): Promise<Date> {
  return tx.oneFirst(sql.type(z.object({ now: z.date() }))`select clock_timestamp() as now`);
}

const dueRow = z.object({
  tenant_id: z.uuid(),
  trigger_id: z.uuid(),
  kind: z.enum(['schedule', 'email', 'db_event']),
});
export type DueSource = z.output<typeof dueRow>;

/** Schedules that are due, and of the others those that no node has looked at in their time. */
export function dueSources(
  tx: DirectoryTransaction,
  lateMs: number,
  rowsMax: number,
): Promise<readonly DueSource[]> {
  return tx.any(sql.type(dueRow)`
    select tenant_id, trigger_id, kind from trigger_sources
    where due_at <= clock_timestamp()
      and (kind = 'schedule' or due_at <= clock_timestamp() - ${lateMs} * interval '1 millisecond')
    order by due_at limit ${rowsMax}`);
}

const sourceRow = z.object({
  kind: z.enum(['schedule', 'email', 'db_event']),
  state: z.record(z.string(), z.unknown()),
  failures: z.number(),
  now: z.date(),
});
export type SourceRow = z.output<typeof sourceRow>;

/** The source, where it is due and in nobody's hands; nobody else has it until the transaction ends. */
export function lockDue(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  triggerId: string,
): Promise<SourceRow | null> {
  return tx.maybeOne(sql.type(sourceRow)`
    select kind, state, failures, clock_timestamp() as now from trigger_sources
    where tenant_id = ${tenantId} and trigger_id = ${triggerId} and due_at <= clock_timestamp()
    for update skip locked`);
}

/**
 * The same for a look that takes longer than a transaction should: it is held for so long. `early`: something is said to
 * be there, so it need not be due.
 */
export function takeDue(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  triggerId: string,
  holdMs: number,
  early: boolean,
): Promise<SourceRow | null> {
  return tx.maybeOne(sql.type(sourceRow)`
    update trigger_sources set due_at = clock_timestamp() + ${holdMs} * interval '1 millisecond'
    where tenant_id = ${tenantId} and trigger_id = ${triggerId}
      and (due_at <= clock_timestamp() or (${early} and due_at < 'infinity'))
    returning kind, state, failures, clock_timestamp() as now`);
}

/** False where the trigger was changed or switched off meanwhile: what was found is another look's to find. */
export async function moveOn(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  triggerId: string,
  {
    before,
    state,
    dueAt,
  }: { readonly before: object; readonly state: object; readonly dueAt: Date | undefined },
): Promise<boolean> {
  const due = dueAt === undefined ? sql.fragment`'infinity'::timestamptz` : sql.timestamp(dueAt);
  const { rowCount } = await tx.query(sql.typeAlias('nothing')`
    update trigger_sources set state = ${JSON.stringify(state)}::jsonb, due_at = ${due}, failures = 0,
      last_error = null
    where tenant_id = ${tenantId} and trigger_id = ${triggerId} and state = ${JSON.stringify(before)}::jsonb
      and due_at < 'infinity'`);
  return rowCount === 1;
}

const healthRow = z.object({ failures: z.number(), last_error: z.string().nullable() });
export type SourceHealth = z.output<typeof healthRow>;

/** How the last looks went; null where nothing is looked at. */
export function sourceHealth(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  triggerId: string,
): Promise<SourceHealth | null> {
  return tx.maybeOne(sql.type(healthRow)`
    select failures, last_error from trigger_sources where tenant_id = ${tenantId} and trigger_id = ${triggerId}`);
}

const pauseMostMs = 120_000;

/** How many looks in a row have failed with this one; undefined where the trigger is switched off. */
export async function noteFailure(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  triggerId: string,
  pauseMs: number,
  error: string,
): Promise<number | undefined> {
  const failures = await tx.maybeOneFirst(sql.type(z.object({ failures: z.number() }))`
    update trigger_sources set failures = failures + 1, last_error = ${error},
      due_at = clock_timestamp()
        + least(${pauseMs} * power(2, least(failures, 10)), ${pauseMostMs}) * interval '1 millisecond'
    where tenant_id = ${tenantId} and trigger_id = ${triggerId} and due_at < 'infinity'
    returning failures`);
  return failures ?? undefined;
}

export interface FoundMessage {
  readonly triggerId: string;
  readonly key: string;
  readonly sessionId: string;
  readonly executionId: string;
  readonly sealed: Buffer;
  readonly holdMs: number;
  readonly keepMs: number;
}

/** A row of the inbox for what a look has found; null where it was found before. */
export async function insertFound(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  found: FoundMessage,
): Promise<number | null> {
  return tx.maybeOneFirst(sql.type(z.object({ seq: z.coerce.number() }))`
    insert into trigger_inbox (tenant_id, trigger_id, key, session_id, execution_id, state, payload_hash, sealed,
      attempts, due_at, expires_at)
    values (${tenantId}, ${found.triggerId}, ${found.key}, ${found.sessionId}, ${found.executionId}, 'running', '',
      ${sql.binary(found.sealed)}, 1, clock_timestamp() + ${found.holdMs} * interval '1 millisecond',
      clock_timestamp() + ${found.keepMs} * interval '1 millisecond')
    on conflict (tenant_id, trigger_id, key) do nothing
    returning seq`);
}

/** Remembers what a look has seen and leaves alone, so that no later look takes it for news. False: it was known. */
export async function noteSeen(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  { triggerId, key, keepMs }: Pick<FoundMessage, 'triggerId' | 'key' | 'keepMs'>,
): Promise<boolean> {
  const { rowCount } = await tx.query(sql.typeAlias('nothing')`
    insert into trigger_inbox (tenant_id, trigger_id, key, session_id, state, payload_hash, sealed, due_at, expires_at)
    values (${tenantId}, ${triggerId}, ${key}, ${triggerId}, 'done', '', '', clock_timestamp(),
      clock_timestamp() + ${keepMs} * interval '1 millisecond')
    on conflict (tenant_id, trigger_id, key) do nothing`);
  return rowCount === 1;
}

/** Whether a run of the trigger goes on. */
export function isRunning(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  triggerId: string,
): Promise<boolean> {
  return tx.exists(sql.typeAlias('nothing')`
    select from trigger_inbox where tenant_id = ${tenantId} and trigger_id = ${triggerId} and state = 'running'`);
}
