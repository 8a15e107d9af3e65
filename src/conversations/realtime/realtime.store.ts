import { z } from 'zod';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import {
  type HotReads,
  type HotStatement,
  type Removal,
  removalFrom,
  sql,
  type Store,
  type TenantTransaction,
} from '../../infra/storage/index.js';
import type { RealtimeEvent, StoredEvent } from './events.js';

/** The topic of the change feed under which nodes learn of new events. */
export const realtimeTopic = 'realtime';

/**
 * Records an event in the transaction that it reports on. Call it as late as possible: other recorders of changes
 * wait from here to the commit.
 */
export async function recordRealtimeEvent(
  tx: TenantTransaction,
  { type, data }: RealtimeEvent,
): Promise<void> {
  await tx.one(sql.type(z.object({ number: z.number() }))`
    select record_realtime_event(
      ${tx.scope.tenantId}, gen_random_uuid(), ${type}, ${JSON.stringify(data)}::jsonb) as number`);
}

/** One event of a batch that an actor writes. Its id is fixed before the first attempt. */
export type RealtimeEventRow = RealtimeEvent & { readonly tenant_id: string; readonly id: string };

/** The same for rows of many tenants, as a JSON list in `$1`. Must be the last statement of its transaction. */
export const realtimeStatement = {
  name: 'realtime_events_record',
  text: `select record_realtime_event(w.tenant_id, w.id, w.type, w.data)
    from jsonb_to_recordset($1::jsonb) as w (tenant_id uuid, id uuid, type text, data jsonb)`,
} as const;

/** Readers get one page at a time, so that catching up needs little memory. */
export const pageRows = 200;

const storedEvent = z.object({
  number: z.number(),
  type: z.string(),
  data: z.record(z.string(), z.unknown()),
  at: z.date(),
});

const after: HotStatement<StoredEvent> = {
  name: 'realtime_events_after',
  text: `select number, type, data, at from realtime_events
    where tenant_id = $1 and number > $2 and at > now() - interval '10 minutes'
    order by number limit ${pageRows}`,
  row: storedEvent,
};

/** The next page of events after a number, oldest first, of the last ten minutes. */
export function readAfter(
  reads: Pick<HotReads, 'inTenant'>,
  scope: TenantScope,
  number: number,
): Promise<StoredEvent[]> {
  return reads.inTenant(scope, after, [scope.tenantId, number]);
}

/** The directory role sees only events that are too old to be read. */
export async function removeOld(store: Store, rowsMax: number): Promise<void> {
  let count = rowsMax;
  while (count === rowsMax) {
    count = await store.directory(async (tx) => {
      const { rowCount } = await tx.query(sql.typeAlias('nothing')`
        delete from realtime_events where (tenant_id, id) in (
          select tenant_id, id from realtime_events where at < now() - interval '10 minutes'
          order by at limit ${rowsMax})`);
      return rowCount;
    });
  }
}

/** For a tenant that is being deleted. */
export const realtimeRemovals: readonly Removal[] = [removalFrom(sql.fragment`realtime_events`)];

/** A tenant has the events of ten minutes. */
export async function forgetEventsOfConsumer(tx: TenantTransaction, key: string): Promise<void> {
  await tx.query(sql.typeAlias('nothing')`
    delete from realtime_events where tenant_id = ${tx.scope.tenantId} and data ->> 'consumer_key' = ${key}`);
}
