// The rows of messages and deliveries in one shape, of PostgreSQL and of the simulated store, to compare them.
import type pg from 'pg';
import type { MessageTables } from '../../simulation/conversations/message-tables.js';
import type { SessionTables } from '../../simulation/conversations/session-tables.js';

/** Times are compared in hours from now. */
export const hourMs = 3_600_000;

interface Named {
  readonly name: string;
}

export interface ComparedRows {
  readonly messages: readonly Named[];
  readonly deliveries: readonly (Named & { readonly status: string })[];
  readonly attempts: readonly Named[];
  /** The status of its delivery, of each execution. */
  readonly shown: readonly Named[];
  readonly replies: readonly Named[];
}

export async function storedRows(view: pg.Client, tenants: readonly string[]): Promise<ComparedRows> {
  const rowsOf = async <Row extends Named>(text: string): Promise<readonly Row[]> =>
    (await view.query<Row>(text, [tenants])).rows.toSorted(byName);
  const due = (at: string): string =>
    `greatest(0, round(extract(epoch from ${at} - clock_timestamp()) / 3600))::int as due`;
  return {
    messages: await rowsOf(
      `select tenant_id || ' ' || trigger_id || ' ' || key as name, state, attempts, claimed_by, ${due('due_at')},
        answer->>'body' as body
       from trigger_inbox where tenant_id = any($1)`,
    ),
    deliveries: await rowsOf(
      `select tenant_id || ' ' || id as name, status, chunk, attempts, claimed_by, inbox_seq::int as place, last_status,
        last_error, sealed::text as sealed, key, ${due(`case when status = 'pending' then due_at end`)}
       from deliveries where tenant_id = any($1)`,
    ),
    attempts: await rowsOf(
      `select delivery_id::text as name, chunk, attempt, status_code, error, claim::text as claim,
        finished_at is not null as finished
       from delivery_attempts where tenant_id = any($1) order by number`,
    ),
    shown: await rowsOf(
      `select tenant_id || ' ' || id as name, delivery_status as status from executions where tenant_id = any($1)`,
    ),
    replies: await rowsOf(
      `select tenant_id || ' ' || session_id as name, trigger_id || ' ' || encode(sealed, 'base64') as reply
       from trigger_replies where tenant_id = any($1)`,
    ),
  };
}

/** `places`: the positions that PostgreSQL gave to messages, by the simulated ones. */
export function simulatedRows(
  { inbox, outbox, refused }: MessageTables,
  { rows: { executions } }: SessionTables,
  places: ReadonlyMap<number, number>,
): ComparedRows {
  const nowMs = Date.now();
  const hours = (dueMs: number): number => Math.max(0, Math.round((dueMs - nowMs) / hourMs));
  const messages = [...inbox.rows].map(([name, row]) => ({
    name,
    state: row.state,
    attempts: row.attempts,
    claimed_by: row.claimedBy,
    due: hours(row.dueMs),
    body: row.answer === null ? null : (JSON.parse(row.answer) as { body: string }).body,
  }));
  const deliveries = [...outbox.rows].map(([name, row]) => ({
    name,
    status: row.status,
    chunk: row.chunk,
    attempts: row.attempts,
    claimed_by: row.claimedBy,
    place: places.get(row.put.inboxSeq),
    last_status: row.lastStatus,
    last_error: row.lastError,
    sealed: `\\x${row.put.sealed.toString('hex')}`,
    key: row.put.key,
    due: row.status === 'pending' ? hours(row.dueMs) : 0,
  }));
  const attempts = outbox.attempts.map(
    ({ delivery, chunk, attempt, statusCode, error, claim, finished }) => ({
      name: delivery.put.id,
      chunk,
      attempt,
      status_code: statusCode,
      error,
      claim,
      finished,
    }),
  );
  const shown = [...executions.keys(), ...refused.keys()].map((name) => ({
    name,
    status: outbox.shown.get(name) ?? 'none',
  }));
  const replies = [...outbox.replies].map(([name, reply]) => ({ name, reply }));
  return {
    messages: messages.toSorted(byName),
    deliveries: deliveries.toSorted(byName),
    attempts: attempts.toSorted(byName),
    shown: shown.toSorted(byName),
    replies: replies.toSorted(byName),
  };
}

function byName(one: Named, other: Named): number {
  return one.name < other.name ? -1 : Number(one.name > other.name);
}
