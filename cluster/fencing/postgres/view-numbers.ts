import { ClusterError } from '../../errors.js';
import { viewNumber, type ViewNumber } from '../../ids/ids.js';
import type { ViewNumbers } from '../../membership/member-store.js';
import { Connections, type ConnectionsOptions, type Statement } from './connections.js';

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

/** View numbers from PostgreSQL: one row per cluster. */
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

  close(): Promise<void> {
    return this.#connections.close();
  }

  async #number({ name, text, values }: Statement): Promise<ViewNumber> {
    const answer = await this.#connections
      .use((client) => client.query<{ number: string }>({ name, text, values: [...values] }))
      .catch((error: unknown) => {
        throw new ClusterError('store_unavailable', 'PostgreSQL returned no view number', { cause: error });
      });
    return viewNumber(Number(answer.rows[0]?.number));
  }
}
