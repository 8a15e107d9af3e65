import type { PostgresTables, Statement } from '../../../cluster/index.js';

/** The rows that the quota actor reads when it is loaded and writes under its fence. */
export interface QuotaLoad {
  readonly tenantId: string;
}

/** Tokens that an earlier activation may have reserved, and the longest remaining time of its calls. */
export interface QuotaLoaded {
  readonly held: number;
  readonly heldForMs: number;
  /** An earlier activation reserved costs and did not end in order. */
  readonly reservesCosts: boolean;
}

export interface TakeBlock {
  readonly what: 'block';
  readonly tenantId: string;
  readonly kind: 'day' | 'key';
  readonly subject: string;
  readonly wanted: number;
  readonly limit: number;
}

export interface HoldTokens {
  readonly what: 'hold';
  readonly tenantId: string;
  readonly tokens: number;
  readonly forMs: number;
  readonly epoch: number;
}

/** The mark that this activation reserves costs. */
export interface MarkCosts {
  readonly what: 'costs';
  readonly tenantId: string;
  readonly epoch: number;
}

export type QuotaWrite = TakeBlock | HoldTokens | MarkCosts;

/** The result for a block; zeros for other writes. */
export interface QuotaWritten {
  readonly block: number;
  readonly granted: number;
}

const ensureCounts = {
  name: 'quota_ensure_counts',
  text: `insert into work_counts (tenant_id, kind, subject, granted, last_block)
    select tenant_id, kind, subject, 0, 0 from unnest($1::uuid[], $2::text[], $3::text[]) as w (tenant_id, kind, subject)
    on conflict do nothing`,
};

/** An actor has one write in a batch, so no row occurs twice. */
const takeBlocks = {
  name: 'quota_take_blocks',
  text: `update work_counts c
    set granted = c.granted + greatest(0, least(w.wanted, w.cap - c.granted)),
      last_block = greatest(0, least(w.wanted, w.cap - c.granted))
    from unnest($1::uuid[], $2::text[], $3::text[], $4::bigint[], $5::bigint[])
      as w (tenant_id, kind, subject, wanted, cap)
    where c.tenant_id = w.tenant_id and c.kind = w.kind and c.subject = w.subject
    returning c.tenant_id, c.last_block as block, c.granted`,
};

const holdTokens = {
  name: 'quota_hold_tokens',
  text: `insert into token_holds (tenant_id, held, held_until, epoch)
    select tenant_id, held, clock_timestamp() + for_ms * interval '1 millisecond', epoch
    from unnest($1::uuid[], $2::bigint[], $3::float8[], $4::bigint[]) as w (tenant_id, held, for_ms, epoch)
    on conflict (tenant_id) do update set held = excluded.held, held_until = excluded.held_until,
      epoch = excluded.epoch`,
};

const markCosts = {
  name: 'quota_mark_costs',
  text: `insert into token_holds (tenant_id, held, held_until, epoch, reserves_costs)
    select tenant_id, 0, clock_timestamp(), epoch, true from unnest($1::uuid[], $2::bigint[]) as w (tenant_id, epoch)
    on conflict (tenant_id) do update set reserves_costs = true, epoch = excluded.epoch`,
};

export const quotaTables: PostgresTables<QuotaLoad, QuotaLoaded, QuotaWrite, QuotaWritten> = {
  load: ({ tenantId }) => ({
    name: 'quota_load',
    text: `select held, greatest(0, ceil(extract(epoch from held_until - clock_timestamp()) * 1000)) as held_for_ms,
        reserves_costs
      from token_holds
      where tenant_id = $1 and (held > 0 and held_until > clock_timestamp() or reserves_costs)`,
    values: [tenantId],
  }),
  loaded: ([row]) => ({
    held: Number(row?.['held'] ?? 0),
    heldForMs: Number(row?.['held_for_ms'] ?? 0),
    reservesCosts: row?.['reserves_costs'] === true,
  }),
  write: (writes) => {
    const blocks = writes.filter((write) => write.what === 'block');
    const holds = writes.filter((write) => write.what === 'hold');
    const statements: Statement[] = [];
    if (blocks.length > 0) {
      const keys = [
        blocks.map(({ tenantId }) => tenantId),
        blocks.map(({ kind }) => kind),
        blocks.map(({ subject }) => subject),
      ];
      const figures = [blocks.map(({ wanted }) => wanted), blocks.map(({ limit }) => limit)];
      statements.push({ ...ensureCounts, values: keys }, { ...takeBlocks, values: [...keys, ...figures] });
    }
    if (holds.length > 0) {
      const values = [
        holds.map(({ tenantId }) => tenantId),
        holds.map(({ tokens }) => tokens),
        holds.map(({ forMs }) => forMs),
        holds.map(({ epoch }) => epoch),
      ];
      statements.push({ ...holdTokens, values });
    }
    const marks = writes.filter((write) => write.what === 'costs');
    if (marks.length > 0) {
      const values = [marks.map(({ tenantId }) => tenantId), marks.map(({ epoch }) => epoch)];
      statements.push({ ...markCosts, values });
    }
    return statements;
  },
  results: (writes, answers) => {
    const rows = writes.some(({ what }) => what === 'block') ? (answers[1] ?? []) : [];
    const taken = new Map(rows.map((row) => [row['tenant_id'], row]));
    return writes.map((write) => {
      const row = write.what === 'block' ? taken.get(write.tenantId) : undefined;
      return { block: Number(row?.['block'] ?? 0), granted: Number(row?.['granted'] ?? 0) };
    });
  },
};
