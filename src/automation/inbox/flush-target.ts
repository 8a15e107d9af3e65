import type { BatchTarget } from '../../infra/storage/index.js';
import { StoreError } from '../../infra/storage/index.js';
import { plainList } from '../../infra/storage/index.js';

/** A buffer to turn into an execution. The execution's id is fixed before the first attempt. */
export interface FlushRow {
  readonly tenant_id: string;
  readonly trigger_id: string;
  readonly session_id: string;
  readonly execution_id: string;
  /** Whether to flush all messages even if the window is still open. */
  readonly at_once: boolean;
  /** The most messages that one execution takes. A buffer with this many is flushed at once. */
  readonly most: number;
  /** The approximate size of its messages, as far as this node knows. */
  readonly bytes: number;
}

export interface FlushedPart {
  readonly seq: number;
  readonly sealed: Buffer;
}

export interface Flushed {
  /** Its messages in the order of acceptance; empty if another process flushed it or its window is still open. */
  readonly parts: readonly FlushedPart[];
  /** Its position in the order of acceptance. */
  readonly seq: number;
  /** Whether older messages of its session run. */
  readonly isBehind: boolean;
  /** How long the window stays open, or the window of the messages that did not fit into the execution. */
  readonly leftMs: number | undefined;
}

/** How long other nodes leave an execution made of a buffer alone, and how long the row is kept afterwards. */
export interface FlushTimes {
  readonly holdMs: number;
  readonly keepMs: number;
}

export const flushKeepMs = 24 * 3_600_000;
/**
 * More than a hundred thousand open buffers can end at two thousand a second, so each commit must hold a large batch.
 */
export const flushLimits = { rowsMax: 150, bytesMax: 4 * 1024 * 1024, depthMax: 100_000 };
/** The assumed size of a buffer of another node: its messages may be long, and too many must not be in memory at once. */
export const bytesUnknown = 128 * 1024;

/** Flushes buffers of many tenants in one call. The SQL function's comment explains the details. */
export function flushTarget({ holdMs, keepMs }: FlushTimes): BatchTarget<FlushRow, Flushed> {
  return {
    name: 'batch_flush_trigger_windows',
    // What the statement sees was committed before it began, as everything was that an earlier buffer of the session became.
    text: `select flush_id::text, part_seq, part, place, left_ms, place is not null and (
        select o.seq from unnest($1::uuid[], $3::uuid[], $4::uuid[]) as g (tenant_id, session_id, execution_id)
          cross join lateral (
            select seq from trigger_inbox i
            where i.session_id = g.session_id and i.state = 'running' and i.seq < place
              and (i.tenant_id = g.tenant_id) is true
            order by i.seq desc limit 1) o
        where g.execution_id = flush_id) is not null as is_behind
      from flush_trigger_windows($1, $2, $3, $4, $5, $6, ${holdMs}, ${keepMs})`,
    shareOf: ({ tenant_id }) => tenant_id,
    bytesOf: ({ bytes }) => bytes,
    values: (rows) => [
      plainList(rows.map((row) => row.tenant_id)),
      plainList(rows.map((row) => row.trigger_id)),
      plainList(rows.map((row) => row.session_id)),
      plainList(rows.map((row) => row.execution_id)),
      plainList(rows.map((row) => row.at_once)),
      plainList(rows.map((row) => row.most)),
    ],
    outcomes: (rows, returned) => {
      const byId = new Map<string, Known>();
      for (const row of returned) {
        const { id, part, place, isBehind, leftMs } = readReturned(row);
        let known = byId.get(id);
        if (known === undefined)
          byId.set(id, (known = { parts: [], seq: 0, isBehind: false, leftMs: undefined }));
        if (part !== undefined) known.parts.push(part);
        if (place !== undefined) known.seq = place;
        known.isBehind ||= isBehind;
        if (leftMs !== undefined) known.leftMs = leftMs;
      }
      return rows.map(({ execution_id }) => {
        const { parts = [], seq = 0, isBehind = false, leftMs } = byId.get(execution_id) ?? {};
        const inOrder = parts.toSorted((one, other) => one.seq - other.seq);
        return { parts: inOrder, seq, isBehind, leftMs };
      });
    },
  };
}

interface Known {
  readonly parts: FlushedPart[];
  seq: number;
  isBehind: boolean;
  leftMs: number | undefined;
}

interface Returned {
  readonly id: string;
  readonly part: FlushedPart | undefined;
  /** The position of the row that runs. */
  readonly place: number | undefined;
  readonly isBehind: boolean;
  readonly leftMs: number | undefined;
}

function readReturned(row: unknown): Returned {
  if (typeof row !== 'object' || row === null) throw new StoreError('unexpected-row', 'Flushing a buffer');
  const field = (name: string): unknown => Reflect.get(row, name);
  const sealed = field('part');
  const leftMs = field('left_ms');
  const place = field('place');
  return {
    id: String(field('flush_id')),
    part: Buffer.isBuffer(sealed) ? { seq: Number(field('part_seq')), sealed } : undefined,
    place: place === null ? undefined : Number(place),
    isBehind: field('is_behind') === true,
    leftMs: leftMs === null ? undefined : Number(leftMs),
  };
}
