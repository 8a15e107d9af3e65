import pg from 'pg';
import { ClusterError } from '../../errors.js';
import type { Activated, ActivateRequest, Fence, FencedWrite, FenceStore, WriteOutcome } from '../fence.js';
import { Activations, type LoadTables } from './activations.js';
import { keyOf } from './actor-key.js';
import { Connections, pipelined, type ConnectionsOptions, type Row, type Statement } from './connections.js';
import { isHeldUp, isRefusal, storeUnavailable, UnusableWrite } from './failures.js';
import { answersOf, type Claim, OneStatement, type WritingStatement } from './one-statement.js';

/** The SQL of one platform: its loads and writes. Everything runs in the fence's transaction. */
export interface PostgresTables<Load, Loaded, Write, Result> extends LoadTables<Load, Loaded> {
  /** Statements for the writes of different actors. Ids are fixed, so that a repeat inserts nothing twice. */
  write(writes: readonly Write[]): readonly WritingStatement[];
  /** Results in the order of the writes, from the rows that each statement returned. */
  results(writes: readonly Write[], answers: readonly (readonly Row[])[]): readonly Result[];
  /** Omit it if each write of an actor must commit separately; see `FenceStore`. */
  readonly combine?: (earlier: Write, later: Write) => Write;
  /** Omit it if no write is large; see `FenceStore`. */
  readonly bytesOf?: (write: Write) => number;
}

/** Short, because a write that is held up is found by halving its batch, and each step waits this long. */
const batchLockTimeoutMs = 500;

export interface PostgresFenceOptions extends Omit<ConnectionsOptions, 'connectionsMax' | 'lockTimeoutMs'> {
  readonly activationsMax?: number;
  /** One more than the batches in flight, for writes that are held up. */
  readonly batchesMax?: number;
}

interface LockedRow {
  readonly place: string;
  readonly epoch: string;
  readonly activation_id: string;
  readonly revision: string;
}

const begin = 'begin isolation level read committed';

/** Locks in key order, so that two batches cannot deadlock. */
const lock = {
  name: 'troupe_actors_lock',
  text: `select w.place, a.epoch, a.activation_id, a.revision
    from unnest($1::uuid[], $2::text[], $3::text[]) with ordinality as w (tenant_id, kind, key, place)
    join actors a using (tenant_id, kind, key)
    order by a.tenant_id, a.kind, a.key
    for no key update of a`,
};

const advance = {
  name: 'troupe_actors_advance',
  text: `update actors a set revision = a.revision + 1,
      busy_process = case w.stamp when 'busy' then w.process when 'free' then null else a.busy_process end,
      busy_until = case w.stamp when 'busy' then clock_timestamp() + w.for_ms * interval '1 millisecond'
        when 'free' then null else a.busy_until end
    from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::float8[])
      as w (tenant_id, kind, key, stamp, process, for_ms)
    where a.tenant_id = w.tenant_id and a.kind = w.kind and a.key = w.key`,
};

/**
 * The usual case: every row still matches its fence. Locks the rows in key order, then advances them. If a row does
 * not match, the division by zero aborts the transaction.
 */
const claim = {
  name: 'troupe_actors_claim',
  parts: `given as (
      select * from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::float8[],
          $7::bigint[], $8::text[], $9::bigint[])
        as w (tenant_id, kind, key, stamp, process, for_ms, epoch, activation_id, revision)
    ), locked as (
      select w.* from given w join actors a using (tenant_id, kind, key)
      where a.epoch = w.epoch and a.activation_id = w.activation_id and a.revision = w.revision
      order by a.tenant_id, a.kind, a.key
      for no key update of a
    ), advanced as (
      update actors a set revision = a.revision + 1,
        busy_process = case w.stamp when 'busy' then w.process when 'free' then null else a.busy_process end,
        busy_until = case w.stamp when 'busy' then clock_timestamp() + w.for_ms * interval '1 millisecond'
          when 'free' then null else a.busy_until end
      from locked w
      where a.tenant_id = w.tenant_id and a.kind = w.kind and a.key = w.key
      returning 1
    ), claimed as (
      select 1 / (count(*) = (select count(*) from given))::int as all_match from advanced
    )`,
};

/** The same for a batch of one write: no lock order is needed. Optimized because a single caller waits for it. */
const claimOne = {
  name: 'troupe_actor_claim',
  parts: `advanced as (
      update actors set revision = revision + 1,
        busy_process = case $4::text when 'busy' then $5::text when 'free' then null else busy_process end,
        busy_until = case $4::text when 'busy' then clock_timestamp() + $6::float8 * interval '1 millisecond'
          when 'free' then null else busy_until end
      where tenant_id = $1::uuid and kind = $2 and key = $3
        and epoch = $7::bigint and activation_id = $8 and revision = $9::bigint
      returning 1
    ), claimed as (
      select 1 / count(*) as all_match from advanced
    )`,
};
const divisionByZero = '22012';

/** Protocol 1 over PostgreSQL. */
export class PostgresFenceStore<Load, Loaded, Write, Result> implements FenceStore<
  Load,
  Loaded,
  Write,
  Result
> {
  readonly #tables: PostgresTables<Load, Loaded, Write, Result>;
  /** Separate pools, so that a burst of activations does not delay writes. */
  readonly #activations: Activations<Load, Loaded>;
  readonly #batches: Connections;
  readonly #oneStatement = new OneStatement();
  readonly combine: FenceStore<Load, Loaded, Write, Result>['combine'];
  readonly bytesOf: FenceStore<Load, Loaded, Write, Result>['bytesOf'];

  constructor(tables: PostgresTables<Load, Loaded, Write, Result>, options: PostgresFenceOptions) {
    const { activationsMax = 8, batchesMax = 3, ...connection } = options;
    this.#tables = tables;
    this.combine = tables.combine;
    this.bytesOf = tables.bytesOf;
    this.#activations = new Activations(tables, { ...connection, connectionsMax: activationsMax });
    this.#batches = new Connections({
      ...connection,
      lockTimeoutMs: Math.min(batchLockTimeoutMs, connection.statementTimeoutMs),
      connectionsMax: batchesMax,
    });
  }

  async close(): Promise<void> {
    await Promise.all([this.#activations.close(), this.#batches.close()]);
  }

  activate(request: ActivateRequest<Load>): Promise<Activated<Loaded>> {
    return this.#activations.activate(request);
  }

  async write(batch: readonly FencedWrite<Write>[]): Promise<readonly WriteOutcome<Result>[]> {
    if (batch.length === 0) return [];
    try {
      return await this.#batches.use(
        async (client) => (await this.#writeClaimed(client, batch)) ?? this.#writeChecked(client, batch),
      );
    } catch (error) {
      if (!isRejected(error) && !isHeldUp(error)) {
        throw error instanceof ClusterError ? error : unknownOutcome(error);
      }
      if (batch.length === 1) return [{ outcome: isRejected(error) ? 'rejected' : 'held_up', error }];
    }
    // Nothing of the batch was written. Halving it isolates the write that is refused or held up.
    const middle = Math.ceil(batch.length / 2);
    const outcomes = await this.#writePart(batch.slice(0, middle));
    return [...outcomes, ...(await this.#writePart(batch.slice(middle)))];
  }

  /** Never rejects: a failure must not hide what happened to the other part. */
  async #writePart(part: readonly FencedWrite<Write>[]): Promise<readonly WriteOutcome<Result>[]> {
    try {
      return await this.write(part);
    } catch (error) {
      const reason = storeUnavailable('PostgreSQL did not answer', error);
      return part.map(() => ({ outcome: 'held_up', error: reason }));
    }
  }

  /** Writes the batch in one round trip if every fence matches; otherwise returns undefined and writes nothing. */
  async #writeClaimed(
    client: pg.Client,
    batch: readonly FencedWrite<Write>[],
  ): Promise<WriteOutcome<Result>[] | undefined> {
    const writes = batch.flatMap(({ write }) => (write === undefined ? [] : [write]));
    const statements = this.#statements(writes);
    try {
      const written = await this.#claimAndWrite(client, claimOf(batch), statements);
      const results = writes.length === 0 ? [] : this.#tables.results(writes, written);
      let place = 0;
      return batch.map(({ write }): WriteOutcome<Result> => {
        if (write === undefined) return { outcome: 'written', result: undefined };
        place += 1;
        return { outcome: 'written', result: results[place - 1] };
      });
    } catch (error) {
      // A write may also have divided by zero; the checked path finds that out.
      if (error instanceof pg.DatabaseError && error.code === divisionByZero) return undefined;
      throw error;
    }
  }

  #statements(writes: readonly Write[]): readonly WritingStatement[] {
    try {
      return writes.length === 0 ? [] : this.#tables.write(writes);
    } catch (error) {
      throw new UnusableWrite(error);
    }
  }

  /** The rows of each statement, after the commit. */
  async #claimAndWrite(
    client: pg.Client,
    claiming: Claim,
    statements: readonly WritingStatement[],
  ): Promise<readonly (readonly Row[])[]> {
    const one = this.#oneStatement.of(claiming, statements);
    if (one !== undefined) {
      const [answer] = await pipelined(client, [one]);
      return answersOf(statements, answer?.rows[0]);
    }
    const first = this.#oneStatement.of(claiming, []);
    if (first === undefined) throw new Error('a claim without writes always forms one statement');
    const answers = await pipelined(client, [begin, first, ...statements, 'commit']);
    if (answers.at(-1)?.command !== 'COMMIT') throw unknownOutcome(new Error('COMMIT was not confirmed'));
    return answers.slice(2, -1).map((answer): readonly Row[] => answer.rows);
  }

  /** Locks and checks each row first: writes those that match and reports the outcome of the others. */
  async #writeChecked(
    client: pg.Client,
    batch: readonly FencedWrite<Write>[],
  ): Promise<WriteOutcome<Result>[]> {
    const keys = columns(
      batch.map(({ fence }) => keyOf(fence.address)),
      3,
    );
    const [, locked] = await pipelined(client, [begin, { ...lock, values: keys }]);
    const rows = new Map<number, LockedRow>();
    for (const row of (locked?.rows ?? []) as LockedRow[]) rows.set(Number(row.place) - 1, row);
    const verdicts = batch.map(({ fence }, place) => compareFence(fence, rows.get(place)));
    const due = batch.filter((_, place) => verdicts[place] === 'due');
    if (due.length === 0) {
      await client.query('rollback');
      return verdicts.map((verdict) =>
        verdict === 'fenced' ? { outcome: 'fenced' } : { outcome: 'written', result: undefined },
      );
    }
    const writes = due.flatMap(({ write }) => (write === undefined ? [] : [write]));
    const statements = this.#statements(writes);
    const answers = await pipelined(client, [advanceStatement(due), ...statements, 'commit']);
    // COMMIT of a failed transaction answers ROLLBACK; the failure itself was thrown before.
    if (answers.at(-1)?.command !== 'COMMIT') throw unknownOutcome(new Error('COMMIT was not confirmed'));
    const written = answers.slice(1, -1).map((answer): readonly Row[] => answer.rows);
    const results = writes.length === 0 ? [] : this.#tables.results(writes, written);
    let place = 0;
    return batch.map(({ write }, index): WriteOutcome<Result> => {
      const verdict = verdicts[index];
      if (verdict === 'fenced') return { outcome: 'fenced' };
      if (verdict !== 'due' || write === undefined) return { outcome: 'written', result: undefined };
      place += 1;
      return { outcome: 'written', result: results[place - 1] };
    });
  }
}

/**
 * Only the activation that holds the id raises the revision. One above the expected revision is this write, committed
 * by an attempt whose answer was lost. Any other difference means that the database lost or restored writes in a
 * failover.
 */
function compareFence(fence: Fence, row: LockedRow | undefined): 'due' | 'made' | 'fenced' {
  if (row === undefined || Number(row.epoch) !== fence.epoch || row.activation_id !== fence.activationId) {
    return 'fenced';
  }
  const ahead = Number(row.revision) - fence.revision;
  return ahead === 0 ? 'due' : ahead === 1 ? 'made' : 'fenced';
}

function advanceStatement(due: readonly FencedWrite<unknown>[]): Statement {
  return { ...advance, values: columns(due.map(advanceRow), 6) };
}

function claimOf(batch: readonly FencedWrite<unknown>[]): Claim {
  const rows = batch.map((one) => {
    const { epoch: expected, activationId, revision: before } = one.fence;
    return [...advanceRow(one), expected, activationId, before];
  });
  const [first] = rows;
  if (first !== undefined && rows.length === 1) return { ...claimOne, values: first };
  return { ...claim, values: columns(rows, 9) };
}

function advanceRow({ fence, stamp: set }: FencedWrite<unknown>) {
  return [
    ...keyOf(fence.address),
    set?.set ?? null,
    set?.set === 'busy' ? set.process : null,
    set?.set === 'busy' ? set.forMs : null,
  ];
}

function columns<Value>(rows: readonly (readonly Value[])[], count: number): Value[][] {
  return Array.from({ length: count }, (_, column) => rows.flatMap((row) => row.slice(column, column + 1)));
}

/** The same write would fail again. */
function isRejected(error: unknown): error is Error {
  return error instanceof UnusableWrite || isRefusal(error);
}

function unknownOutcome(cause: unknown): ClusterError {
  const reason = cause instanceof Error ? `: ${cause.message}` : '';
  return new ClusterError('outcome_unknown', `the commit of a batch was not confirmed${reason}`, {
    cause,
  });
}
