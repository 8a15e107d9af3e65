// What must hold after a soak, read from outside: from the receiver of callbacks, the vendor's bill and the database.
import type pg from 'pg';
import type { Load, Receiver } from '../failover/load.js';

/** Rows that are still somebody's work; each name is what would be left. */
const leftovers = {
  'open attempts in the ledger': 'select count(*)::int as rows from usage_rows where outcome is null',
  'unfinished turns': 'select count(*)::int as rows from executions where outcome is null',
  'messages in the inbox': `select count(*)::int as rows from trigger_inbox where state in ('buffered', 'running')`,
  'deliveries in the outbox': 'select count(*)::int as rows from deliveries where finished_at is null',
} as const;

export async function leftWork(view: pg.Client): Promise<readonly string[]> {
  const left: string[] = [];
  for (const [name, text] of Object.entries(leftovers)) {
    const { rows } = await view.query<{ rows: number }>(text);
    const count = rows[0]?.rows ?? 0;
    if (count > 0) left.push(`${count} ${name}`);
  }
  return left;
}

/**
 * Each acknowledged message is called back, and the first calls of a session come in the order in which its messages were
 * accepted. Turns may start in another order: one that was accepted by a node that is lost then starts elsewhere, and the
 * answers of later ones wait for it.
 */
export async function callbackFaults(
  view: pg.Client,
  load: Load,
  receiver: Receiver,
): Promise<readonly string[]> {
  const faults: string[] = [];
  for (const id of load.acknowledgedAtMs.keys()) {
    if (!receiver.calledAtMs.has(id)) faults.push(`${id} was acknowledged and never called back`);
  }
  const { rows } = await view.query<{ session_id: string; id: string }>(
    `select session_id, execution_id as id from trigger_inbox where execution_id is not null
      order by tenant_id, session_id, seq`,
  );
  const known = new Set(rows.map(({ id }) => id));
  for (const id of load.acknowledgedAtMs.keys()) {
    if (!known.has(id)) faults.push(`${id} was acknowledged and has no row in the inbox`);
  }
  let session = '';
  let lastMs = 0;
  for (const { session_id: of, id } of rows) {
    const calledAtMs = receiver.calledAtMs.get(id);
    if (calledAtMs === undefined) continue;
    if (of === session && calledAtMs < lastMs)
      faults.push(`${id} was called back before a message that was accepted earlier`);
    session = of;
    lastMs = calledAtMs;
  }
  return faults;
}

/** The month's counter holds what the ledger has booked. */
export async function quotaFaults(view: pg.Client): Promise<readonly string[]> {
  const { rows } = await view.query<{ used: string; booked: string }>(
    `select (select coalesce(sum(used), 0) from quota_months) as used,
       (select coalesce(sum(input_tokens + output_tokens), 0) from usage_rows where payer = 'platform') as booked`,
  );
  const { used = '0', booked = '0' } = rows[0] ?? {};
  return used === booked ? [] : [`the month counts ${used} tokens, the ledger has ${booked}`];
}
