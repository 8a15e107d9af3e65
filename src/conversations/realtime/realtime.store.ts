import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import {
  type HotReads,
  type HotStatement,
  sql,
  type Store,
  type TenantTransaction,
} from '../../infra/storage/index.js';
import type { RealtimeEvent, StoredEvent } from './events.js';

/** Nodes hear of new events by this topic of the change feed. */
export const realtimeTopic = 'realtime';

/**
 * Reports in the transaction of what is reported, as nearly the last thing that it does: other recorders of changes
 * wait from here to the commit.
 */
export async function recordRealtimeEvent(
  tx: TenantTransaction,
  { type, data }: RealtimeEvent,
): Promise<void> {
  await tx.one(sql.type(z.object({ number: z.number() }))`
    select record_realtime_event(
      ${tx.scope.tenantId}, ${randomUUID()}, ${type}, ${JSON.stringify(data)}::jsonb) as number`);
}

/** One event of a batch that an actor writes. Its id is fixed before the first attempt. */
export type RealtimeEventRow = RealtimeEvent & { readonly tenant_id: string; readonly id: string };

/** The same for rows of many tenants, as a JSON list in `$1`. The last statement of its transaction. */
export const realtimeStatement = {
  name: 'realtime_events_record',
  text: `select record_realtime_event(w.tenant_id, w.id, w.type, w.data)
    from jsonb_to_recordset($1::jsonb) as w (tenant_id uuid, id uuid, type text, data jsonb)`,
} as const;

/** Readers are given a page at a time, so that catching up holds little in memory. */
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

/** The next page of events behind a number, oldest first, of the last ten minutes. */
export function readAfter(reads: HotReads, scope: TenantScope, number: number): Promise<StoredEvent[]> {
  return reads.inTenant(scope, after, [scope.tenantId, number]);
}

/** The directory's role sees only what is too old to be read. */
export function removeOld(store: Store): Promise<void> {
  return store.directory(async (tx) => {
    await tx.query(sql.typeAlias('nothing')`
      delete from realtime_events where at < now() - interval '10 minutes'`);
  });
}
