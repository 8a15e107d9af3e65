// The connections shared by all batch writers of a node.
import pg from 'pg';
import type { Random, Time } from '../../../cluster/index.js';
import type { BatchTarget } from './batch-target.js';
import { Writer } from './batch-writer.js';
import type { BatchWriter, BatchWriterOptions, Send } from './batch-writer.js';
import { checkServer, clientConfig } from './connection.js';
import { StoreError, toStoreError } from './errors.js';
import { PlanAges } from './plan-ages.js';
import { ignoreIdleLosses, poolConfig } from './pool.js';
import { writerRole } from './roles.js';

export type BatchWriters = {
  writer<Row, Outcome>(
    target: BatchTarget<Row, Outcome>,
    options?: BatchWriterOptions,
  ): BatchWriter<Row, Outcome>;
  /** Waits for all rows and closes the connections. */
  close(): Promise<void>;
};

export type BatchWritersOptions = {
  readonly databaseUrl: string;
  /** The name under which this process claims rows. */
  readonly process?: string | undefined;
  readonly time: Time;
  readonly random: Random;
  readonly connectionsMax?: number;
  readonly statementTimeoutMs?: number;
};

/** Short, because a blocked row is found by halving its batch, and each step waits this long. */
const lockTimeoutMs = 500;

/**
 * By default PostgreSQL would plan each batch again, because the array lengths differ, although the plan is the same. A
 * plan made for empty tables is kept for a minute and more and would scan whole tables, so sequential scans are off: a
 * batch knows its keys.
 */
const settings = ['plan_cache_mode=force_generic_plan', 'enable_seqscan=off'];

export function openBatchWriters(options: BatchWritersOptions): BatchWriters {
  const { databaseUrl, process, time, random, connectionsMax = 6, statementTimeoutMs = 3_000 } = options;
  const role = writerRole;
  const config = clientConfig({ databaseUrl, process, role, statementTimeoutMs, lockTimeoutMs, settings });
  const pool = new pg.Pool({
    ...poolConfig(config),
    max: connectionsMax,
    // A timer per batch would cost more than a few open connections.
    idleTimeoutMillis: 0,
  });
  ignoreIdleLosses(pool);
  const send = sender(pool, time);
  const writers = new Set<{ drained(): Promise<void> }>();
  return {
    writer: (target, limits = {}) => {
      const writer = new Writer(target, send, time, random, limits);
      writers.add(writer);
      return writer;
    },
    close: async () => {
      await Promise.all([...writers].map((writer) => writer.drained()));
      await pool.end();
    },
  };
}

function sender(pool: pg.Pool, time: Time): Send {
  const checked = new WeakSet<pg.PoolClient>();
  const plans = new PlanAges(time);
  return async (statement, maySend) => {
    const client = await pool.connect();
    try {
      if (!checked.has(client)) {
        await checkServer(client, writerRole);
        checked.add(client);
      }
      if (plans.areOld(client)) await client.query('discard plans');
      const result = maySend() ? await client.query<object>(statement) : undefined;
      client.release();
      return result;
    } catch (error) {
      client.release(!isUsable(error));
      throw error;
    }
  };
}

/** After a refusal the connection is intact; after any other error its state is unknown. */
function isUsable(error: unknown): boolean {
  if (!(error instanceof pg.DatabaseError)) return false;
  const translated = toStoreError(error, 'A batch');
  return translated instanceof StoreError && translated.failure !== 'unavailable';
}
