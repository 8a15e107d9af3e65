import pg from 'pg';
import { PostgresFenceStore, type PostgresTables } from '../../../cluster/fencing/postgres/fence-store.js';
import { systemTime } from '../../../cluster/time/system.js';
import { refusedSums, type SumLoad, type SumWrite, unusableSum } from '../../contracts/fence-store.js';

export const sumTables: PostgresTables<SumLoad, number, SumWrite, number> = {
  load: ({ counter }) => ({
    name: 'sum_load',
    text: 'select coalesce(max(sum), 0) as sum from sums where counter = $1',
    values: [counter],
  }),
  loaded: ([row]) => Number(row?.['sum']),
  write: (writes) => [
    {
      name: 'sum_write',
      text: `with given as (
          select * from unnest($1::text[], $2::text[], $3::bigint[]) as w (id, counter, sum)
        ), added as (
          insert into additions (id, counter, sum) select id, counter, sum from given
          on conflict (id) do nothing returning counter, sum
        )
        insert into sums as s (counter, sum) select counter, sum from added
        on conflict (counter) do update set sum = excluded.sum
        returning counter, sum`,
      values: [writes.map(({ id }) => id), writes.map(({ counter }) => counter), writes.map(usable)],
    },
  ],
  results: (writes, [rows = []]) =>
    writes.map(({ counter }) => Number(rows.find((row) => row['counter'] === counter)?.['sum'])),
};

function usable({ sum }: SumWrite): number {
  if (sum === unusableSum) throw new RangeError('Invalid string length');
  return sum;
}

const sumsText = (parameter: number, condition: string): string =>
  `insert into sums as s (counter, sum)
    select counter, sum from jsonb_to_recordset($${parameter}::jsonb) as w (counter text, sum bigint) where ${condition}
    on conflict (counter) do update set sum = excluded.sum
    returning s.counter, s.sum`;

/** The same, for writes that go along with the claim in one statement. */
const sumTablesInOne: typeof sumTables = {
  ...sumTables,
  write: (writes) => [
    {
      name: 'sum_write_in_one',
      text: sumsText(1, 'true'),
      values: [JSON.stringify(writes.map((write) => ({ counter: write.counter, sum: usable(write) })))],
      part: { name: 'summed', text: sumsText, answers: true },
    },
  ],
};

export async function createSumTables(databaseUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query(`
    create table sums (counter text primary key, sum bigint not null check (sum >= 0));
    create table additions (id text primary key, counter text not null, sum bigint not null check (sum >= 0));
    grant select, insert, update on sums, additions to troupe_writer;
    create function refuse_sum() returns trigger language plpgsql as $$ begin
      ${Object.entries(refusedSums)
        .map(
          ([code, sum]) =>
            `if new.sum = ${sum} then raise exception 'as the test says' using errcode = '${code}'; end if;`,
        )
        .join(' ')}
      return new; end $$;
    create trigger refuse before insert or update on sums for each row execute function refuse_sum();
  `);
  await client.end();
}

export function openSumStore(databaseUrl: string, { inOne = false, statementTimeoutMs = 10_000 } = {}) {
  return new PostgresFenceStore(inOne ? sumTablesInOne : sumTables, {
    databaseUrl,
    role: 'troupe_writer',
    statementTimeoutMs,
    // The tests of a file open a hundred connections at once.
    connectTimeoutMs: 30_000,
    time: systemTime,
  });
}
