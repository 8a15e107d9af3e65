import { z } from 'zod';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import { type ClaimedTable, claimHolders, claimingProcess, releaseClaims } from '../../infra/claims/index.js';
import { type DirectoryTransaction, sql, type TenantTransaction } from '../../infra/storage/index.js';
import { type TriggerType, triggerTypes } from '../triggers/types/registry.js';

export interface Arming {
  readonly triggerId: string;
  readonly kind: TriggerType;
  /** Undefined keeps the stored state. */
  readonly state: object | undefined;
  /** The state for a source that is armed for the first time, or whose stored state has another `about`. */
  readonly firstState?: object | undefined;
  /** The trigger's, kept in the state: nodes that know only an older one leave the source alone. */
  readonly revision: number;
  /** Undefined: disabled. */
  readonly dueAt: Date | undefined;
}

/**
 * A position that is replaced stays beside the new one until something was read there, and comes back with its `about`: an
 * owner who corrects a wrong host at once loses nothing.
 */
export async function armSource(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  { triggerId, kind, state, firstState = {}, revision, dueAt }: Arming,
): Promise<void> {
  const due = dueAt === undefined ? sql.fragment`'infinity'::timestamptz` : sql.timestamp(dueAt);
  const json = JSON.stringify({ ...(state ?? firstState), revision });
  await tx.query(sql.typeAlias('nothing')`
    insert into trigger_sources as s (tenant_id, trigger_id, kind, state, due_at)
    values (${tenantId}, ${triggerId}, ${kind}, ${json}::jsonb, ${due})
    on conflict (tenant_id, trigger_id) do update
      set state = case
          when ${state !== undefined} then excluded.state
          when s.state -> 'about' <> excluded.state -> 'about' and not s.state ? 'validity'
              and s.state -> 'former' -> 'about' = excluded.state -> 'about'
            then (s.state -> 'former') || jsonb_build_object('revision', excluded.state -> 'revision')
          when s.state -> 'about' <> excluded.state -> 'about'
            then excluded.state || jsonb_build_object('former',
              case when s.state ? 'validity' then s.state else coalesce(s.state -> 'former', s.state) end)
          else s.state || jsonb_build_object('revision', excluded.state -> 'revision') end,
        due_at = excluded.due_at, failures = 0, last_error = null`);
}

/**
 * Arms a source with a new position. If it stays enabled and its new state has the same `about`, it keeps the stored
 * position and due time: renaming a schedule must not swallow a firing that is due but not yet noticed.
 */
export async function armUnlessSame(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  {
    triggerId,
    kind,
    state,
    dueAt,
  }: Pick<Arming, 'triggerId' | 'kind' | 'dueAt'> & { readonly state: object },
): Promise<void> {
  const due = dueAt === undefined ? sql.fragment`'infinity'::timestamptz` : sql.timestamp(dueAt);
  const isSame = sql.fragment`s.state -> 'about' = excluded.state -> 'about' and s.due_at < 'infinity'
    and excluded.due_at < 'infinity'`;
  await tx.query(sql.typeAlias('nothing')`
    insert into trigger_sources as s (tenant_id, trigger_id, kind, state, due_at)
    values (${tenantId}, ${triggerId}, ${kind}, ${JSON.stringify(state)}::jsonb, ${due})
    on conflict (tenant_id, trigger_id) do update
      set state = case when ${isSame} then s.state || jsonb_build_object('revision', excluded.state -> 'revision')
          else excluded.state end,
        due_at = case when ${isSame} then s.due_at else excluded.due_at end, failures = 0, last_error = null`);
}

const dueRow = z.object({ tenant_id: z.uuid(), trigger_id: z.uuid() });
export type DueSource = z.output<typeof dueRow>;

/** Those among which tenants take turns: a tenant has at most 2,000, and each sweep reads and sorts them. */
const rankedMax = 10_000;

/**
 * Sources of one kind that are due for at least `lateMs`: the one of each tenant that is due for longest first, then the
 * next of each.
 */
export function dueSources(
  tx: DirectoryTransaction,
  {
    kind,
    lateMs,
    rowsMax,
  }: { readonly kind: TriggerType; readonly lateMs: number; readonly rowsMax: number },
): Promise<readonly DueSource[]> {
  return tx.any(sql.type(dueRow)`
    with oldest as (
      select tenant_id, trigger_id, due_at from trigger_sources
      -- Asked once, so that the index on the due time bounds what is read.
      where due_at <= (select clock_timestamp() - ${lateMs} * interval '1 millisecond') and kind = ${kind}
      order by due_at limit ${rankedMax}
    ), due as (
      select *, row_number() over (partition by tenant_id order by due_at) as turn from oldest
    )
    select tenant_id, trigger_id from due order by turn, due_at limit ${rowsMax}`);
}

/** The claims on sources that are being polled. `lateMs`: how late a source must be before any node polls it. */
export function sourceClaims(lateMs: number): ClaimedTable {
  return {
    holders: (tx) => claimHolders(tx, sql.fragment`trigger_sources`, sql.fragment`due_at < 'infinity'`),
    release: (tx, gone) =>
      releaseClaims(tx, gone, {
        table: sql.fragment`trigger_sources`,
        keys: sql.fragment`tenant_id, trigger_id`,
        claimed: sql.fragment`due_at < 'infinity'`,
        due: sql.fragment`due_at = clock_timestamp() - ${lateMs} * interval '1 millisecond'`,
      }),
  };
}

const sourceRow = z.object({
  kind: z.enum(triggerTypes),
  state: z.record(z.string(), z.unknown()),
  failures: z.number(),
  now: z.date(),
});
export type SourceRow = z.output<typeof sourceRow>;

/** Locks the source until the transaction ends, if it is due and no other transaction holds it. */
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

export interface Taking {
  readonly triggerId: string;
  /** The trigger's, as this node knows it. */
  readonly revision: number;
  readonly holdMs: number;
  /** New content was announced, so the source need not be due. */
  readonly early: boolean;
}

/**
 * The same for polls longer than a transaction: claims the source for `holdMs`. Null also if the trigger has changed and
 * this node has not seen it yet: a node that has will poll it.
 */
export function takeDue(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  { triggerId, revision, holdMs, early }: Taking,
): Promise<SourceRow | null> {
  return tx.maybeOne(sql.type(sourceRow)`
    update trigger_sources set claimed_by = ${claimingProcess},
      due_at = clock_timestamp() + ${holdMs} * interval '1 millisecond'
    where tenant_id = ${tenantId} and trigger_id = ${triggerId}
      and (due_at <= clock_timestamp() or (${early} and due_at < 'infinity'))
      and coalesce((state -> 'revision')::int8, 0) <= ${revision}
    returning kind, state, failures, clock_timestamp() as now`);
}

/** Holds a source that this process polls for longer. Does nothing if the trigger was changed or disabled meanwhile. */
export async function holdLonger(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  {
    triggerId,
    state,
    holdMs,
  }: { readonly triggerId: string; readonly state: object; readonly holdMs: number },
): Promise<void> {
  await tx.query(sql.typeAlias('nothing')`
    update trigger_sources
    set due_at = greatest(due_at, clock_timestamp() + ${holdMs} * interval '1 millisecond')
    where tenant_id = ${tenantId} and trigger_id = ${triggerId} and state = ${JSON.stringify(state)}::jsonb
      and claimed_by is not distinct from ${claimingProcess} and due_at < 'infinity'`);
}

/**
 * Returns false if the trigger was changed or disabled meanwhile: another poll will find the messages. `fault`: what the
 * owner must mend although the poll succeeded.
 */
export async function moveOn(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  triggerId: string,
  {
    before,
    state,
    dueAt,
    fault,
  }: {
    readonly before: object;
    readonly state: object;
    readonly dueAt: Date | undefined;
    readonly fault?: string | undefined;
  },
): Promise<boolean> {
  const due = dueAt === undefined ? sql.fragment`'infinity'::timestamptz` : sql.timestamp(dueAt);
  const { rowCount } = await tx.query(sql.typeAlias('nothing')`
    update trigger_sources set state = ${JSON.stringify(state)}::jsonb, due_at = ${due}, claimed_by = null,
      failures = ${fault === undefined ? 0 : 1}, last_error = ${fault ?? null}
    where tenant_id = ${tenantId} and trigger_id = ${triggerId} and state = ${JSON.stringify(before)}::jsonb
      and due_at < 'infinity'`);
  return rowCount === 1;
}

/** A source that is later than `lateMs` becomes due in `inMs`, without a poll: its position and its failures stay. */
export interface PutOff {
  readonly lateMs: number;
  readonly inMs: number;
}

/** Lets the other sources go first. Does nothing to one that is being polled or is not late enough. */
export async function putOff(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  triggerId: string,
  { lateMs, inMs }: PutOff,
): Promise<void> {
  await tx.query(sql.typeAlias('nothing')`
    update trigger_sources set claimed_by = null,
      due_at = clock_timestamp() + ${inMs} * interval '1 millisecond'
    where tenant_id = ${tenantId} and trigger_id = ${triggerId}
      and due_at <= clock_timestamp() - ${lateMs} * interval '1 millisecond'`);
}

/** Gives up a poll that this process broke off: it is no failure, and any node may poll at once. */
export async function giveBack(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  triggerId: string,
  lateMs: number,
): Promise<void> {
  await tx.query(sql.typeAlias('nothing')`
    update trigger_sources set claimed_by = null,
      due_at = clock_timestamp() - ${lateMs} * interval '1 millisecond'
    where tenant_id = ${tenantId} and trigger_id = ${triggerId} and due_at < 'infinity'
      and claimed_by is not distinct from ${claimingProcess}`);
}

const healthRow = z.object({ failures: z.number(), last_error: z.string().nullable() });
export type SourceHealth = z.output<typeof healthRow>;

/** The result of the last polls; null if the trigger has no polled source. */
export function sourceHealth(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  triggerId: string,
): Promise<SourceHealth | null> {
  return tx.maybeOne(sql.type(healthRow)`
    select failures, last_error from trigger_sources where tenant_id = ${tenantId} and trigger_id = ${triggerId}`);
}

const pauseMostMs = 120_000;

/** Returns the number of consecutive failures, including this one; undefined if the trigger is disabled. */
export async function noteFailure(
  { tenantId }: TenantScope,
  tx: TenantTransaction,
  triggerId: string,
  pauseMs: number,
  error: string,
): Promise<number | undefined> {
  const failures = await tx.maybeOneFirst(sql.type(z.object({ failures: z.number() }))`
    update trigger_sources set failures = failures + 1, last_error = ${error}, claimed_by = null,
      due_at = clock_timestamp()
        + least(${pauseMs} * power(2, least(failures, 10)), ${pauseMostMs}) * interval '1 millisecond'
    where tenant_id = ${tenantId} and trigger_id = ${triggerId} and due_at < 'infinity'
    returning failures`);
  return failures ?? undefined;
}
