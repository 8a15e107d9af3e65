import { z } from 'zod';
import { costAddedFrom, costsAddedFrom, monthAddedFrom, monthsAddedFrom } from '../../tenancy/quota/index.js';
import {
  type BatchTarget,
  columnReader,
  insertText,
  sql,
  type Store,
  unnestText,
} from '../../infra/storage/index.js';
import { answeredFacts, attemptFacts, callFacts, hourAdded, hoursAdded } from './hours.store.js';

/** An attempt before its vendor is asked. Times are ISO 8601, as the columns take them. */
export interface OpenedRow {
  readonly tenant_id: string;
  readonly attempt_id: string;
  readonly call_id: string;
  readonly attempt_number: number;
  readonly source: string;
  readonly key_id: string | null;
  readonly user_id: string | null;
  readonly agent_id: string | null;
  readonly session_id: string | null;
  readonly execution_id: string | null;
  /** The process of the attempt. When it is gone, no other process closes the row. */
  readonly process_id: string;
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

/** The result of an attempt. */
export interface ClosedRow {
  readonly tenant_id: string;
  readonly attempt_id: string;
  /** The value of the opening: with it the row is found in few steps through any index. */
  readonly opened_at: string;
  readonly outcome: 'completed' | 'failed' | 'timeout' | 'cancelled';
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

const openedColumns = {
  tenant_id: 'uuid',
  attempt_id: 'uuid',
  call_id: 'uuid',
  attempt_number: 'int4',
  source: 'text',
  key_id: 'uuid',
  user_id: 'uuid',
  agent_id: 'uuid',
  session_id: 'uuid',
  execution_id: 'uuid',
  process_id: 'text',
  vendor: 'text',
  model: 'text',
  payer: 'text',
  month: 'date',
  opened_at: 'timestamptz',
  deadline_at: 'timestamptz',
  input_estimate: 'int8',
  output_estimate: 'int8',
  cost_estimate: 'float8',
} as const satisfies Record<keyof OpenedRow, string>;

/** Openings within another statement. An existing row stays as it is. */
export const openedTable = {
  name: 'usage_rows',
  columns: openedColumns,
  key: ['tenant_id', 'attempt_id'],
  changes: [],
} as const;

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
} as const satisfies Record<Exclude<keyof ClosedRow, 'tenant_id' | 'attempt_id' | 'opened_at'>, string>;

/**
 * The telemetry of a call that its first attempt completed; the attempt's row holds the rest. All fields are null if
 * the closing records no call.
 */
export interface RecordedRow {
  readonly response_time_ms: number | null;
  readonly input_preview: string | null;
  readonly output_preview: string | null;
}

export const nothingRecorded: RecordedRow = {
  response_time_ms: null,
  input_preview: null,
  output_preview: null,
};

const closingColumns = {
  tenant_id: 'uuid',
  attempt_id: 'uuid',
  opened_at: 'timestamptz',
  ...closedColumns,
  response_time_ms: 'float8',
  input_preview: 'text',
  output_preview: 'text',
} as const satisfies Record<keyof ClosedRow | keyof RecordedRow, string>;

export type ClosingRow = ClosedRow & RecordedRow;

const keepFirst = 'on conflict (tenant_id, attempt_id) do nothing';

/**
 * Openings without closings: preparing the other parts of the statement would be wasted. The commit is not flushed. An
 * opening protects against the death of a process, and then the row exists. Only a crash of PostgreSQL within a moment
 * can lose it; then the closing, which is flushed, finds no row and reports that.
 */
function openingText(selected: string): string {
  return `insert into usage_rows (${Object.keys(openedColumns).join(', ')})
    select ${selected} ${keepFirst}`;
}

const unflushed = "(select set_config('synchronous_commit', 'off', true)) as unflushed";

const openings = {
  name: 'open_attempts',
  text: openingText(`given.* from ${unflushed}, ${unnestText(openedColumns)} as given`),
};

/** PostgreSQL needs as long to unnest lists as for all other work on one row. */
const openingAlone = {
  name: 'open_book',
  text: openingText(`${scalars(openedColumns)} from ${unflushed}`),
};

/** `missing`: no open row was closed. It does not exist, or an earlier write of the same closing has closed it. */
export type Recorded = 'booked' | 'missing';

/** What the further parts of the statement read. The whole row of 34 columns would be copied for each of them. */
const closedFacts = [
  'tenant_id',
  'attempt_id',
  'call_id',
  'attempt_number',
  'source',
  'key_id',
  'user_id',
  'agent_id',
  'session_id',
  'execution_id',
  'vendor',
  'model',
  'payer',
  'month',
  'opened_at',
  'outcome',
  'failure',
  'input_tokens',
  'cache_read_tokens',
  'cache_write_tokens',
  'output_tokens',
  'cost',
] as const satisfies readonly (keyof OpenedRow | keyof ClosedRow)[];

/**
 * Closings close rows, add the tokens that the platform paid for to the month's counter, and record the calls that
 * ended with them. A row that is already closed stays as it is, adds nothing and records nothing, so a repeated batch
 * counts once. The statement returns the keys of which it closed no row: they have none, or it was closed before.
 *
 * A call is recorded in the commit that closes its attempt, and a row is closed once, so no other row of the call exists
 * and the insert looks for none. If it exists nevertheless, PostgreSQL refuses the closing, which is then written
 * without the call. The sums of the hour rest on the same: they count closed rows and do not join the inserted ones.
 *
 * PostgreSQL keeps the plan, which was made for tables of another size. The conditions find a row in few steps with
 * any index: `outcome is null` would search all open rows, whose index seems to be small, and the tenant alone would
 * search all rows of the tenant, where keys take fewer bytes. With a thousand open rows a batch took five times as
 * long, measured.
 */
function closingText(parts: {
  readonly given: string;
  /** Adds the relation `closed` to the counters and sums. */
  readonly added: { readonly month: string; readonly cost: string; readonly hour: string };
  /** Selects the keys of which no row was closed. */
  readonly missing: string;
}): string {
  return `given (${Object.keys(closingColumns).join(', ')}) as (
      select ${parts.given}
    ),
    closed as (
      update usage_rows u set ${Object.keys(closedColumns)
        .map((name) => `${name} = given.${name}`)
        .join(', ')}
      from given
      where u.tenant_id = given.tenant_id and u.attempt_id = given.attempt_id and u.opened_at = given.opened_at
        and u.closed_at is null
      returning ${closedFacts.map((name) => `u.${name}`).join(', ')}, given.response_time_ms, given.input_preview,
        given.output_preview, case when u.payer = 'platform' then u.input_tokens + u.output_tokens else 0 end as tokens
    ),
    counted as (${parts.added.month}),
    spent as (${parts.added.cost}),
    recorded as (
      insert into calls (tenant_id, started_at, call_id, key_id, user_id, agent_id, session_id, execution_id, call_source,
        provider, model, first_model, status, failure, from_cache, attempts, input_tokens, output_tokens, cached_tokens,
        cache_creation_tokens, cost, response_time_ms, input_preview, output_preview)
      select tenant_id, opened_at, call_id, key_id, user_id, agent_id, session_id, execution_id, source,
        vendor, model, model, 'success', null, false, 1, input_tokens, output_tokens, cache_read_tokens,
        cache_write_tokens, cost, response_time_ms, input_preview, output_preview
      from closed where response_time_ms is not null
    ),
    hours as (${parts.added.hour})
    ${parts.missing}`;
}

const closingAlone = {
  name: 'close_book',
  text: `with ${closingText({
    given: scalars(closingColumns),
    added: { month: monthAddedFrom('closed'), cost: costAddedFrom('closed'), hour: hourAdded(answeredFacts) },
    missing: 'select $2::text as attempt_id where not exists (select from closed)',
  })}`,
};

const openedValues = columnReader(openedColumns);
const closingValues = columnReader(closingColumns);

/** The parameters of closings follow those of openings, keys first. */
const closingsFrom = Object.keys(openedColumns).length + 1;

/** Opens and closes rows in one statement, so that one commit serves all calls that start or end at the moment. */
export const ledgerTarget: BatchTarget<OpenedRow | ClosingRow, Recorded> = {
  name: 'write_books',
  text: `with opened as (
      ${insertText('usage_rows', openedColumns)} ${keepFirst}
    ),
    ${closingText({
      given: `* from ${unnestText(closingColumns, closingsFrom - 1)}`,
      added: {
        month: monthsAddedFrom('closed'),
        cost: costsAddedFrom('closed'),
        hour: hoursAdded(answeredFacts),
      },
      missing: `select attempt_id::text from unnest($${closingsFrom + 1}::uuid[]) as key (attempt_id)
    where (select count(*) from closed) < cardinality($${closingsFrom + 1}::uuid[])
      and attempt_id not in (select attempt_id from closed)`,
    })}`,
  shorter: (rows) => {
    const [first, ...others] = rows;
    if (first !== undefined && others.length === 0) {
      return isClosing(first)
        ? { ...closingAlone, values: valuesOf(closingColumns, first) }
        : { ...openingAlone, values: valuesOf(openedColumns, first) };
    }
    return rows.some(isClosing) ? undefined : { ...openings, values: openedValues(rows) };
  },
  bytesOf: (row) =>
    isClosing(row) ? 500 + (row.input_preview?.length ?? 0) + (row.output_preview?.length ?? 0) : 500,
  values: (rows) => [
    ...openedValues(rows.filter((row) => !isClosing(row))),
    ...closingValues(rows.filter(isClosing)),
  ],
  outcomes: (rows, returned) => {
    if (returned.length === 0) return rows.map(() => 'booked');
    const missing = new Set(returned.map((row) => missingRow.parse(row).attempt_id));
    return rows.map((row) => (isClosing(row) && missing.has(row.attempt_id) ? 'missing' : 'booked'));
  },
};

const missingRow = z.object({ attempt_id: z.string() });

type Columns = Readonly<Record<string, string>>;

/** One parameter for each column of a single row. */
function scalars(columns: Columns): string {
  return Object.entries(columns)
    .map(([name, type], index) => `$${index + 1}::${type} as ${name}`)
    .join(', ');
}

function valuesOf(columns: Columns, row: object): unknown[] {
  return Object.keys(columns).map((name): unknown => Reflect.get(row, name));
}

function isClosing(row: OpenedRow | ClosingRow): row is ClosingRow {
  return 'outcome' in row;
}

/** An open attempt whose process is gone or whose deadline has passed. */
export interface Orphan {
  readonly tenant_id: string;
  readonly attempt_id: string;
}

/**
 * Closes such rows with the estimates of their openings, counts them and records their calls, which ended with them. A
 * row that was closed in the meantime stays as it is.
 */
export const orphanTarget: BatchTarget<Orphan, 'closed'> = {
  name: 'close_orphans',
  text: `with given (tenant_id, attempt_id) as (
      select * from unnest($1::uuid[], $2::uuid[])
    ),
    closed as (
      update usage_rows u set outcome = 'orphaned', usage_source = 'estimated', closed_at = clock_timestamp(),
        input_tokens = u.input_estimate, output_tokens = u.output_estimate, cost = u.cost_estimate
      from given
      where u.tenant_id = given.tenant_id and u.attempt_id = given.attempt_id and u.outcome is null
      returning u.*
    ),
    booked as (
      select tenant_id, month, input_tokens + output_tokens as tokens from closed where payer = 'platform'
    ),
    counted as (${monthsAddedFrom('booked')}),
    spent as (${costsAddedFrom('closed')}),
    inserted as (
      insert into calls (tenant_id, started_at, call_id, key_id, user_id, agent_id, session_id, execution_id, call_source,
        provider, model, first_model, status, failure, from_cache, attempts, input_tokens, output_tokens, cached_tokens,
        cache_creation_tokens, cost, response_time_ms, input_preview, output_preview)
      select c.tenant_id, coalesce(earlier.started_at, c.opened_at), c.call_id, c.key_id, c.user_id, c.agent_id,
        c.session_id, c.execution_id, c.source, c.vendor, c.model, coalesce(earlier.model, c.model), 'error', 'orphaned',
        false, c.attempt_number, c.input_tokens + earlier.input_tokens, c.output_tokens + earlier.output_tokens,
        earlier.cached_tokens, earlier.cache_creation_tokens, (c.cost::numeric + earlier.cost)::float8,
        greatest(0, extract(epoch from least(c.closed_at, c.deadline_at) - coalesce(earlier.started_at, c.opened_at)))
          * 1000, '', ''
      from closed c
      cross join lateral (
        select min(u.opened_at) as started_at, min(u.model) filter (where u.attempt_number = 1) as model,
          coalesce(sum(u.input_tokens), 0)::bigint as input_tokens,
          coalesce(sum(u.output_tokens), 0)::bigint as output_tokens,
          coalesce(sum(u.cache_read_tokens), 0)::bigint as cached_tokens,
          coalesce(sum(u.cache_write_tokens), 0)::bigint as cache_creation_tokens,
          coalesce(sum(u.cost::numeric), 0) as cost
        from usage_rows u
        where c.attempt_number > 1 and u.tenant_id = c.tenant_id and u.call_id = c.call_id
          and u.attempt_number < c.attempt_number
      ) earlier
      on conflict (tenant_id, started_at, call_id) do nothing returning *
    ),
    hours as (${hoursAdded(attemptFacts, callFacts)})
    select attempt_id::text from closed`,
  values: (rows) => [rows.map(({ tenant_id }) => tenant_id), rows.map(({ attempt_id }) => attempt_id)],
  outcomes: (rows) => rows.map(() => 'closed'),
};

const processes = z.object({ process_id: z.string() });

/** The processes that have open rows. */
export async function listProcesses(store: Store): Promise<readonly string[]> {
  const rows = await store.directory((tx) =>
    tx.any(sql.type(processes)`
      select distinct process_id from usage_rows where outcome is null and process_id is not null`),
  );
  return rows.map(({ process_id: id }) => id);
}

const orphan = z.object({ tenant_id: z.string(), attempt_id: z.string() });

/** Open rows after their deadline, by the store's clock, or of a process that is gone; oldest first. */
export function listOrphans(
  store: Store,
  gone: readonly string[],
  rowsMax: number,
): Promise<readonly Orphan[]> {
  return store.directory((tx) =>
    tx.any(sql.type(orphan)`
      select tenant_id, attempt_id from usage_rows
      where outcome is null
        and (deadline_at < clock_timestamp() or process_id = any(${sql.array([...gone], 'text')}))
      order by deadline_at limit ${rowsMax}`),
  );
}
