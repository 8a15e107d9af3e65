import { z } from 'zod';
import { monthsAddedFrom } from '../quota/index.js';
import { type BatchTarget, insertTarget, sql, type Store } from '../storage/index.js';

/** An attempt before its vendor is asked. Times are ISO 8601, as the columns take them. */
export interface OpenedRow {
  readonly tenant_id: string;
  readonly attempt_id: string;
  readonly call_id: string;
  readonly attempt_number: number;
  readonly source: string;
  readonly key_id: string | null;
  readonly user_id: string | null;
  readonly vendor: string;
  readonly model: string;
  readonly payer: 'platform' | 'tenant';
  readonly month: string;
  readonly opened_at: string;
  readonly deadline_at: string;
  readonly input_estimate: number;
  readonly output_estimate: number;
  readonly cost_estimate: number;
}

/** What became of it. */
export interface ClosedRow {
  readonly tenant_id: string;
  readonly attempt_id: string;
  readonly outcome: 'completed' | 'failed' | 'timeout' | 'cancelled' | 'orphaned';
  readonly closed_at: string;
  readonly input_tokens: number;
  readonly cache_read_tokens: number;
  readonly cache_write_tokens: number;
  readonly output_tokens: number;
  readonly reasoning_tokens: number;
  readonly cost: number;
  readonly usage_source: 'reported' | 'estimated' | 'reconciled';
  readonly stop_reason: string | null;
  readonly failure: string | null;
  readonly vendor_request_id: string | null;
  readonly first_signal_ms: number | null;
  readonly duration_ms: number | null;
}

export const openedTarget = insertTarget<OpenedRow>({
  table: 'usage_rows',
  columns: {
    tenant_id: 'uuid',
    attempt_id: 'uuid',
    call_id: 'uuid',
    attempt_number: 'int4',
    source: 'text',
    key_id: 'uuid',
    user_id: 'uuid',
    vendor: 'text',
    model: 'text',
    payer: 'text',
    month: 'date',
    opened_at: 'timestamptz',
    deadline_at: 'timestamptz',
    input_estimate: 'int8',
    output_estimate: 'int8',
    cost_estimate: 'float8',
  },
  key: ['tenant_id', 'attempt_id'],
});

const closedColumns = {
  outcome: 'text',
  closed_at: 'timestamptz',
  input_tokens: 'int8',
  cache_read_tokens: 'int8',
  cache_write_tokens: 'int8',
  output_tokens: 'int8',
  reasoning_tokens: 'int8',
  cost: 'float8',
  usage_source: 'text',
  stop_reason: 'text',
  failure: 'text',
  vendor_request_id: 'text',
  first_signal_ms: 'float8',
  duration_ms: 'float8',
} as const satisfies Record<Exclude<keyof ClosedRow, 'tenant_id' | 'attempt_id'>, string>;

const names: readonly (keyof ClosedRow)[] = [
  'tenant_id',
  'attempt_id',
  ...(Object.keys(closedColumns) as (keyof typeof closedColumns)[]),
];
const parameters = names.map((name, index) => {
  const type = name === 'tenant_id' || name === 'attempt_id' ? 'uuid' : closedColumns[name];
  return `$${index + 1}::${type}[]`;
});
const returnedKey = z.object({ attempt_id: z.string() });

/**
 * Closes rows and adds what the platform paid for to the month's counter, in one statement. A row that is closed
 * already is left as it is and adds nothing, so a repeated batch counts once.
 */
export const closedTarget: BatchTarget<ClosedRow, 'closed' | 'closed-before'> = {
  name: 'close_usage_rows',
  text: `with given (${names.join(', ')}) as (select * from unnest(${parameters.join(', ')})),
    closed as (
      update usage_rows u set ${Object.keys(closedColumns)
        .map((name) => `${name} = given.${name}`)
        .join(', ')}
      from given
      where u.tenant_id = given.tenant_id and u.attempt_id = given.attempt_id and u.outcome is null
      returning u.tenant_id, u.attempt_id, u.month,
        case when u.payer = 'platform' then u.input_tokens + u.output_tokens else 0 end as tokens
    ),
    counted as (${monthsAddedFrom('closed')})
    select attempt_id::text from closed`,
  values: (rows) => names.map((name) => rows.map((row) => row[name])),
  outcomes: (rows, returned) => {
    const closed = new Set(returned.map((row) => returnedKey.parse(row).attempt_id));
    return rows.map((row) => (closed.has(row.attempt_id) ? 'closed' : 'closed-before'));
  },
};

const orphan = z.object({
  tenant_id: z.string(),
  attempt_id: z.string(),
  input_estimate: z.number(),
  output_estimate: z.number(),
  cost_estimate: z.number(),
});
export type Orphan = z.output<typeof orphan>;

/** Rows still open after their deadline, the oldest first. */
export function listOrphans(store: Store, now: Date, rowsMax: number): Promise<readonly Orphan[]> {
  return store.directory((tx) =>
    tx.any(sql.type(orphan)`
      select tenant_id, attempt_id, input_estimate, output_estimate, cost_estimate from usage_rows
      where outcome is null and deadline_at < ${now.toISOString()}::timestamptz
      order by deadline_at limit ${rowsMax}`),
  );
}
