import type pg from 'pg';
import { epoch, processId, revision, type ActorAddress, type ProcessId } from '../../ids/ids.js';
import type { Activated, ActivateRequest } from '../fence.js';
import { keyOf } from './actor-key.js';
import {
  Connections,
  pipelined,
  settled,
  type ConnectionsOptions,
  type Row,
  type Statement,
} from './connections.js';
import { isStatementError, storeUnavailable } from './failures.js';

/** What an activation reads of its actor, in the snapshot after its epoch was raised. */
export interface LoadTables<Load, Loaded> {
  load(load: Load): Statement;
  loaded(rows: readonly Row[], load: Load): Loaded;
}

interface Waiting<Load, Loaded> {
  readonly request: ActivateRequest<Load>;
  readonly resolve: (activated: Activated<Loaded>) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Transactions that one connection sends together. Under load a round trip takes as long as a turn of the loop, some
 * fifty milliseconds: with one activation for each, new sessions wait for seconds beside active ones.
 */
const togetherMax = 8;

/**
 * A row that an older owner holds delays the activations behind it on the connection. It is given up after this time
 * and tried by itself, with the whole time-out.
 */
const togetherLockTimeoutMs = 250;

/**
 * Activations do not wait for the disk. A durable write of an activation commits after its epoch, and so is never
 * kept without it. If a crash of the database loses an epoch, nothing was written under it, and its fence no longer
 * matches.
 */
const beginActivation = 'begin isolation level read committed; set local synchronous_commit = off';
const beginTogether = `${beginActivation}; set local lock_timeout = ${togetherLockTimeoutMs}`;

/**
 * One statement checks the stamp and raises the epoch; it waits for the commit of an older owner. The load is the
 * next statement, in a later snapshot, and so sees what that owner committed (protocol 1.2).
 */
const raise = {
  name: 'troupe_actor_raise',
  text: `insert into actors as a (tenant_id, kind, key, slot, epoch, activation_id, revision)
    values ($1, $2, $3, $4, 1, $5, 0)
    on conflict (tenant_id, kind, key) do update set epoch = a.epoch + 1, activation_id = excluded.activation_id,
      slot = excluded.slot, busy_process = null, busy_until = null
    where a.busy_process is null or a.busy_until <= clock_timestamp() or a.busy_process = any ($6::text[])
    returning epoch, revision`,
};

const stamp = {
  name: 'troupe_actor_stamp',
  text: `select busy_process, ceil(extract(epoch from busy_until - clock_timestamp()) * 1000) as remaining_ms
    from actors where tenant_id = $1 and kind = $2 and key = $3 and busy_process is not null`,
};

/** Each activation is a transaction of its own. Those that wait for a connection are sent together. */
export class Activations<Load, Loaded> {
  readonly #tables: LoadTables<Load, Loaded>;
  readonly #connections: Connections;
  readonly #connectionsMax: number;
  readonly #waiting: Waiting<Load, Loaded>[] = [];
  #underWay = 0;

  constructor(tables: LoadTables<Load, Loaded>, options: ConnectionsOptions) {
    this.#tables = tables;
    this.#connections = new Connections(options);
    this.#connectionsMax = options.connectionsMax;
  }

  activate(request: ActivateRequest<Load>): Promise<Activated<Loaded>> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ request, resolve, reject });
      this.#send();
    });
  }

  close(): Promise<void> {
    return this.#connections.close();
  }

  #send(): void {
    while (this.#waiting.length > 0 && this.#underWay < this.#connectionsMax) {
      const batch = this.#waiting.splice(0, togetherMax);
      this.#underWay += 1;
      void this.#carry(batch).finally(() => {
        this.#underWay -= 1;
        this.#send();
      });
    }
  }

  /** Never rejects. */
  async #carry(batch: readonly Waiting<Load, Loaded>[]): Promise<void> {
    const left = batch.length === 1 ? batch : await this.#together(batch);
    await Promise.all(
      left.map(async ({ request, resolve, reject }) => {
        try {
          resolve(await this.#alone(request));
        } catch (error) {
          reject(unavailable(error));
        }
      }),
    );
  }

  /** Returns those that are to be tried by themselves: their stamp has to be read, or their transaction failed. */
  async #together(batch: readonly Waiting<Load, Loaded>[]): Promise<readonly Waiting<Load, Loaded>[]> {
    try {
      return await this.#connections.use(async (client) => {
        const statements = batch.flatMap(({ request }) => this.#statements(beginTogether, request, []));
        const answers = await settled(client, statements);
        const each = answers.length / batch.length;
        return batch.filter((waiting, place) =>
          this.#needsAnother(waiting, answers.slice(place * each, (place + 1) * each)),
        );
      });
    } catch (error) {
      // Those that have their answer keep it.
      for (const { reject } of batch) reject(unavailable(error));
      return [];
    }
  }

  #needsAnother(
    { request, resolve }: Waiting<Load, Loaded>,
    answers: readonly PromiseSettledResult<pg.QueryResult>[],
  ): boolean {
    const failure = answers.find((answer) => answer.status === 'rejected');
    if (failure !== undefined) {
      // The connection broke: what was sent behind it has no answer either.
      if (!isStatementError(failure.reason)) throw failure.reason;
      // Held up, refused, or a statement was not prepared because the transaction before it failed.
      return true;
    }
    const results = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
    try {
      const activated = this.#activated(request, results);
      if (activated === undefined) return true;
      resolve(activated);
      return false;
    } catch {
      // Its rows cannot be read: by itself, it fails with the reason and alone.
      return true;
    }
  }

  async #alone(request: ActivateRequest<Load>): Promise<Activated<Loaded>> {
    const ignored: ProcessId[] = [];
    return this.#connections.use(async (client) => {
      for (;;) {
        const statements = this.#statements(beginActivation, request, ignored);
        const activated = this.#activated(request, await pipelined(client, statements));
        if (activated !== undefined) return activated;
        const busy = await readStamp(client, request.address);
        if (busy === undefined) continue;
        if (ignored.includes(busy.process) || !request.ignoreStampsOf(busy.process)) return busy;
        ignored.push(busy.process);
      }
    });
  }

  #statements(begin: string, request: ActivateRequest<Load>, ignored: readonly ProcessId[]) {
    const { address, slot, activationId, load } = request;
    const raising = { ...raise, values: [...keyOf(address), slot, activationId, [...ignored]] };
    return [begin, raising, this.#tables.load(load), 'commit'];
  }

  #activated(
    { address, activationId, load }: ActivateRequest<Load>,
    [, raised, loaded]: readonly pg.QueryResult[],
  ): Activated<Loaded> | undefined {
    const row: Row | undefined = raised?.rows[0];
    if (row === undefined || loaded === undefined) return undefined;
    const fence = {
      address,
      epoch: epoch(Number(row['epoch'])),
      activationId,
      revision: revision(Number(row['revision'])),
    };
    return { outcome: 'activated', fence, loaded: this.#tables.loaded(loaded.rows, load) };
  }
}

/** The next attempt uses a new activation id, so it does not matter whether the epoch was raised. */
function unavailable(error: unknown): Error {
  return storeUnavailable('PostgreSQL failed to activate an actor', error);
}

async function readStamp(
  client: pg.Client,
  address: ActorAddress,
): Promise<Extract<Activated<never>, { outcome: 'busy' }> | undefined> {
  const [answer] = await pipelined(client, [{ ...stamp, values: keyOf(address) }]);
  const row: Row | undefined = answer?.rows[0];
  if (row === undefined) return undefined;
  const remainingMs = Number(row['remaining_ms']);
  if (remainingMs <= 0) return undefined;
  return { outcome: 'busy', process: processId(String(row['busy_process'])), remainingMs };
}
