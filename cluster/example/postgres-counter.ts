import type { PostgresTables } from '../fencing/postgres/fence-store.js';
import type { CounterLoad, CounterResult, CounterState, CounterWrite } from './counter.js';

/** The tables of the example counter; they are not part of the platform's migrations. */
export const counterSchema = `
  create table if not exists example_counters (counter text primary key, sum bigint not null);
  create table if not exists example_additions (
    counter text not null, request_id text not null, sum bigint not null, primary key (counter, request_id)
  );
`;

/** A repeated request returns the first sum and adds nothing: `xmax` is 0 only for a row inserted now. */
const add = {
  name: 'example_counter_add',
  text: `with added as (
      insert into example_additions as a (counter, request_id, sum)
      select * from unnest($1::text[], $2::text[], $3::bigint[])
      on conflict (counter, request_id) do update set sum = a.sum
      returning counter, sum, xmax = 0 as is_new
    ), summed as (
      insert into example_counters (counter, sum) select counter, sum from added where is_new
      on conflict (counter) do update set sum = excluded.sum
    )
    select counter, sum from added`,
};

export const postgresCounterTables: PostgresTables<CounterLoad, CounterState, CounterWrite, CounterResult> = {
  load: ({ counter }) => ({
    name: 'example_counter_load',
    text: 'select sum from example_counters where counter = $1',
    values: [key(counter)],
  }),
  loaded: ([row]) => ({ sum: Number(row?.['sum'] ?? 0) }),
  write: (writes) => [
    {
      ...add,
      values: [
        writes.map(({ counter }) => key(counter)),
        writes.map(({ requestId }) => requestId),
        writes.map(({ sum }) => sum),
      ],
    },
  ],
  results: (writes, [rows = []]) => {
    const sums = new Map(rows.map((row) => [row['counter'], Number(row['sum'])]));
    return writes.map(({ counter }) => ({ sum: sums.get(key(counter)) ?? 0 }));
  },
};

/** Address parts are joined by NUL, which PostgreSQL text cannot hold. */
function key(counter: string): string {
  return counter.replaceAll('\0', '\u001F');
}
