import type { BatchTarget } from '../../infra/storage/index.js';
import { StoreError } from '../../infra/storage/index.js';
import { plainList } from '../../infra/storage/index.js';
import { isBehindInserted } from './behind.store.js';

/** A message to accept. Its key, which identifies the row, is fixed before the first attempt to write it. */
export interface AcceptedRow {
  readonly tenant_id: string;
  readonly trigger_id: string;
  readonly key: string;
  readonly session_id: string;
  /** Null for a message that waits in a buffer. */
  readonly execution_id: string | null;
  /** `done`: nothing runs; the row exists only to recognise a repeat. */
  readonly state: 'buffered' | 'running' | 'done';
  /** Whether to refuse the message when people have taken its session over. */
  readonly asks: boolean;
  readonly payload_hash: string;
  readonly sealed: Buffer;
  readonly answer: string | null;
  /** The window of a buffer, or how long other nodes leave the row alone. */
  readonly hold_ms: number;
  readonly keep_ms: number;
}

/**
 * `present`: a row with this key existed. `taken over`: people have taken the session over, and nothing was written.
 */
export type Fate = 'accepted' | 'present' | 'taken over';

export interface Acceptance {
  readonly fate: Fate;
  /** The number of messages in the buffer, including this one. */
  readonly buffered: number;
  /** Its position in the order of acceptance. */
  readonly seq: number;
  /** Whether it runs and older messages of its session run. */
  readonly isBehind: boolean;
}

/** How long after its end a window that its process abandoned is found. */
export const windowLateMs = 500;

/**
 * Accepts messages of many tenants in one statement: checks whether people have taken the sessions over, inserts the
 * rows and updates the windows of buffers. The lists, one per column, are unnested where they are used, because
 * PostgreSQL materialises a common table expression that is read twice, with all message bytes. Times are PostgreSQL's.
 * Windows are locked in key order, so that two batches cannot deadlock.
 */
const many = `
    with taken as (
      -- One lookup by key per message, instead of a list of all sessions that were taken over.
      select g.position
      from unnest($1::uuid[], $4::uuid[], $14::bool[]) with ordinality as g (tenant_id, session_id, asks, position)
      cross join lateral (
        select from taken_over_sessions s where s.tenant_id = g.tenant_id and s.id = g.session_id limit 1) s
      where g.asks
    ), inserted as (
      insert into trigger_inbox (tenant_id, trigger_id, key, session_id, execution_id, state, payload_hash, sealed,
        answer, attempts, due_at, expires_at)
      select tenant_id, trigger_id, key, session_id, execution_id, state, payload_hash,
        substring($8::bytea from sealed_at for sealed_bytes), answer, 1,
        clock_timestamp() + hold_ms * interval '1 millisecond',
        clock_timestamp() + keep_ms * interval '1 millisecond'
      from unnest($1::uuid[], $2::uuid[], $3::text[], $4::uuid[], $5::uuid[], $6::text[], $7::text[], $9::int4[],
        $10::int4[], $11::jsonb[], $12::int8[], $13::int8[]) with ordinality
        as g (tenant_id, trigger_id, key, session_id, execution_id, state, payload_hash, sealed_at, sealed_bytes,
          answer, hold_ms, keep_ms, position)
      where position not in (select position from taken) order by position
      on conflict (tenant_id, trigger_id, key) do nothing
      returning tenant_id, trigger_id, key, session_id, state, due_at, seq,
        state = 'running' and ${isBehindInserted.sql} as behind
    ), windows as (
      insert into trigger_windows (tenant_id, trigger_id, session_id, messages, due_at, look_at)
      select tenant_id, trigger_id, session_id, count(*), max(due_at),
        max(due_at) + interval '${windowLateMs} milliseconds'
      from inserted where state = 'buffered'
      group by tenant_id, trigger_id, session_id order by tenant_id, trigger_id, session_id
      on conflict (tenant_id, trigger_id, session_id) do update
        set messages = trigger_windows.messages + excluded.messages, due_at = excluded.due_at
      returning trigger_id, session_id, messages
    )
    select trigger_id::text, key as name, seq, behind, null::int4 as messages, null::int8 as taken from inserted
    union all select trigger_id::text, session_id::text, null, null, messages, null from windows
    union all select null, null, null, null, null, position from taken`;

/**
 * The same for one message, without lists, ordering and sums: a plain accept is a seventh faster. A message that is not
 * buffered skips the windows.
 */
function single(behind: string, parts: string, more: string): string {
  return `
    with taken as (
      select 1 as position from taken_over_sessions s
      where $12::bool and s.tenant_id = $1::uuid and s.id = $4::uuid
    ), inserted as (
      insert into trigger_inbox (tenant_id, trigger_id, key, session_id, execution_id, state, payload_hash, sealed,
        answer, attempts, due_at, expires_at)
      select $1::uuid, $2::uuid, $3::text, $4::uuid, $5::uuid, $6::text, $7::text, $8::bytea, $9::jsonb, 1,
        clock_timestamp() + $10::int8 * interval '1 millisecond',
        clock_timestamp() + $11::int8 * interval '1 millisecond'
      where not exists (select from taken)
      on conflict (tenant_id, trigger_id, key) do nothing
      returning due_at, seq, ${behind} as behind
    )${parts}
    select $2::text as trigger_id, $3::text as name, seq, behind, null::int4 as messages, null::int8 as taken
    from inserted${more}
    union all select null, null, null, null, null, position from taken`;
}

const oneBuffered = {
  name: 'trigger_inbox_one_buffered',
  text: single(
    'false',
    `, windows as (
      insert into trigger_windows (tenant_id, trigger_id, session_id, messages, due_at, look_at)
      select $1::uuid, $2::uuid, $4::uuid, 1, due_at, due_at + interval '${windowLateMs} milliseconds' from inserted
      on conflict (tenant_id, trigger_id, session_id) do update
        set messages = trigger_windows.messages + 1, due_at = excluded.due_at
      returning messages
    )`,
    `
    union all select $2::text, $4::text, null, null, messages, null from windows`,
  ),
};

const oneAtOnce = { name: 'trigger_inbox_one_at_once', text: single(isBehindInserted.sql, '', '') };

export const acceptTarget: BatchTarget<AcceptedRow, Acceptance> = {
  name: 'batch_trigger_inbox',
  text: many,
  shorter: ([row, ...others]) =>
    row === undefined || others.length > 0
      ? undefined
      : {
          ...(row.state === 'buffered' ? oneBuffered : oneAtOnce),
          values: [
            row.tenant_id,
            row.trigger_id,
            row.key,
            row.session_id,
            row.execution_id,
            row.state,
            row.payload_hash,
            row.sealed,
            row.answer,
            row.hold_ms,
            row.keep_ms,
            row.asks,
          ],
        },
  shareOf: ({ tenant_id }) => tenant_id,
  bytesOf: ({ sealed, key }) => sealed.byteLength + key.length + 256,
  values: (rows) => {
    let end = 1;
    const places = rows.map(({ sealed }) => {
      const at = end;
      end += sealed.byteLength;
      return at;
    });
    return [
      plainList(rows.map((row) => row.tenant_id)),
      plainList(rows.map((row) => row.trigger_id)),
      rows.map((row) => row.key),
      plainList(rows.map((row) => row.session_id)),
      plainList(rows.map((row) => row.execution_id ?? 'null')),
      plainList(rows.map((row) => row.state)),
      plainList(rows.map((row) => (row.payload_hash === '' ? '""' : row.payload_hash))),
      // One buffer is sent as bytes; a list of bytea would be sent as hexadecimal text.
      Buffer.concat(rows.map((row) => row.sealed)),
      plainList(places),
      plainList(rows.map((row) => row.sealed.byteLength)),
      rows.map((row) => row.answer),
      plainList(rows.map((row) => row.hold_ms)),
      plainList(rows.map((row) => row.keep_ms)),
      plainList(rows.map((row) => row.asks)),
    ];
  },
  outcomes: (rows, returned) => {
    const seqs = new Map<string, Placed>();
    const messages = new Map<string, number>();
    const takenOver = new Set<number>();
    for (const one of returned.map(readReturned)) {
      if ('taken' in one) takenOver.add(one.taken - 1);
      else if ('placed' in one) seqs.set(one.at, one.placed);
      else messages.set(one.at, one.messages);
    }
    const inBatch = new Map<string, number>();
    // Of rows with the same key in one batch, PostgreSQL inserts the first whose session is not taken over.
    const written = rows.map((row, index) => {
      if (takenOver.has(index)) return undefined;
      const key = placeOf(row.trigger_id, row.key);
      const placed = seqs.get(key);
      if (placed === undefined) return undefined;
      seqs.delete(key);
      const window = row.state === 'buffered' ? placeOf(row.trigger_id, row.session_id) : undefined;
      if (window === undefined) return { placed, window, position: 0 };
      const position = (inBatch.get(window) ?? 0) + 1;
      inBatch.set(window, position);
      return { placed, window, position };
    });
    return rows.map((_, index): Acceptance => {
      const one = written[index];
      if (takenOver.has(index)) return { fate: 'taken over', buffered: 0, seq: 0, isBehind: false };
      if (one === undefined) return { fate: 'present', buffered: 0, seq: 0, isBehind: false };
      const { placed, window, position } = one;
      if (window === undefined) return { fate: 'accepted', buffered: 0, ...placed };
      // The count is that after the whole batch; each message reports its own position.
      const after = (inBatch.get(window) ?? 0) - position;
      return { fate: 'accepted', buffered: (messages.get(window) ?? 0) - after, ...placed };
    });
  },
};

/** The map key for a message key or session of a trigger. */
function placeOf(triggerId: string, name: string): string {
  return `${triggerId} ${name}`;
}

type Placed = Pick<Acceptance, 'seq' | 'isBehind'>;

type Returned =
  | { readonly taken: number }
  | { readonly at: string; readonly placed: Placed }
  | { readonly at: string; readonly messages: number };

function readReturned(row: unknown): Returned {
  if (typeof row !== 'object' || row === null) throw new StoreError('unexpected-row', 'Accepting a message');
  const field = (name: string): unknown => Reflect.get(row, name);
  const [taken, seq] = [field('taken'), field('seq')];
  if (taken !== null) return { taken: Number(taken) };
  const at = placeOf(String(field('trigger_id')), String(field('name')));
  if (seq === null) return { at, messages: Number(field('messages')) };
  return { at, placed: { seq: Number(seq), isBehind: field('behind') === true } };
}
