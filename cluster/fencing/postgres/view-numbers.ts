import type pg from 'pg';
import { viewNumber, type ViewNumber } from '../../ids/ids.js';
import type { NewestGeneration, ViewNumbers } from '../../membership/member-store.js';
import { Connections, type ConnectionsOptions, type Statement } from './connections.js';
import { storeUnavailable } from './failures.js';

export interface PostgresNumbersOptions extends Omit<ConnectionsOptions, 'connectionsMax'> {
  /** Clusters that share a database need different names. */
  readonly cluster: string;
}

const next = {
  name: 'troupe_next_view',
  text: `insert into cluster_views as c (cluster, last_number) values ($1, $2::bigint + 1)
    on conflict (cluster) do update set last_number = greatest(c.last_number, $2::bigint) + 1
    returning last_number as number`,
};

const seize = {
  name: 'troupe_seize_view',
  text: `insert into cluster_views as c (cluster, last_number, seized_number)
    values ($1, $2::bigint + 1, $2::bigint + 1)
    on conflict (cluster) do update set last_number = greatest(c.last_number, $2::bigint) + 1,
      seized_number = greatest(c.last_number, $2::bigint) + 1
    returning last_number as number`,
};

const seized = {
  name: 'troupe_seized_view',
  text: 'select coalesce(max(seized_number), 0) as number from cluster_views where cluster = $1',
};

const newest = {
  name: 'troupe_newest_generation',
  text: `with used as (
      update cluster_generations set used_at = now()
      where cluster = $1 and mark = $2 and used_at < now() - interval '1 second'
    )
    select mark, extract(epoch from now() - used_at) * 1000 as unused_ms
    from cluster_generations where cluster = $1 order by number desc limit 1`,
};

/** Of two processes that name two generations at once, one names none, and tries again at its next renewal. */
const name = {
  name: 'troupe_name_generation',
  text: `insert into cluster_generations (cluster, mark, number)
    select $1, $2, coalesce(max(number), 0) + 1 from cluster_generations where cluster = $1
    on conflict do nothing`,
};

/** View numbers and generations of the member store from PostgreSQL. */
export class PostgresNumbers implements ViewNumbers {
  readonly #connections: Connections;
  readonly #cluster: string;

  constructor({ cluster, ...options }: PostgresNumbersOptions) {
    this.#cluster = cluster;
    this.#connections = new Connections({ ...options, connectionsMax: 2 });
  }

  next(atLeast: ViewNumber): Promise<ViewNumber> {
    return this.#number({ ...next, values: [this.#cluster, atLeast] });
  }

  seize(atLeast: ViewNumber): Promise<ViewNumber> {
    return this.#number({ ...seize, values: [this.#cluster, atLeast] });
  }

  seized(): Promise<ViewNumber> {
    return this.#number({ ...seized, values: [this.#cluster] });
  }

  async newestGeneration(used: string | undefined): Promise<NewestGeneration | undefined> {
    const [row] = (
      await this.#ask<{ mark: string; unused_ms: string }>({ ...newest, values: [this.#cluster, used ?? ''] })
    ).rows;
    return row === undefined ? undefined : { generation: row.mark, unusedMs: Number(row.unused_ms) };
  }

  async nameGeneration(generation: string): Promise<NewestGeneration | undefined> {
    await this.#ask({ ...name, values: [this.#cluster, generation] });
    return this.newestGeneration(undefined);
  }

  close(): Promise<void> {
    return this.#connections.close();
  }

  async #number(statement: Statement): Promise<ViewNumber> {
    const answer = await this.#ask<{ number: string }>(statement);
    return viewNumber(Number(answer.rows[0]?.number));
  }

  #ask<Found extends pg.QueryResultRow>({ values, ...form }: Statement): Promise<pg.QueryResult<Found>> {
    return this.#connections
      .use((client) => client.query<Found>({ ...form, values: [...values] }))
      .catch((error: unknown) => {
        throw storeUnavailable('PostgreSQL did not answer a question about views', error);
      });
  }
}
