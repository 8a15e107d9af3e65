import { type Random, sleep, type Time } from '../../../cluster/index.js';
import type { Transit } from '../../../cluster/simulation/member-store.js';
import type { BatchTarget, BatchWriters } from '../../../src/infra/storage/index.js';
import { type Send, Writer } from '../../../src/infra/storage/batch-writer.js';
import { StoreError } from '../../../src/infra/storage/errors.js';

/** What a statement does with a batch in one commit; returns the outcome of each row. */
export type Statement = (rows: readonly never[]) => readonly unknown[];

export interface TwinWritersParts {
  readonly time: Time;
  readonly random: Random;
  readonly transit: Transit;
  /** By the name of the target. */
  readonly statements: ReadonlyMap<string, Statement>;
  /** Whether another transaction holds a row of this batch locked now. PostgreSQL waits for it for a while. */
  readonly isLocked: (rows: readonly object[]) => boolean;
}

/** The platform's own writers, retries, halves and deadlines included, over statements on simulated tables. */
export function twinWriters(parts: TwinWritersParts): Pick<BatchWriters, 'writer'> & {
  drained(): Promise<void>;
} {
  const writers: { drained(): Promise<void> }[] = [];
  return {
    writer(target, limits = {}) {
      const statement = parts.statements.get(target.name);
      if (statement === undefined) throw new Error(`the simulated store has no statement ${target.name}`);
      const writer = new Writer(inMemory(target), sender(parts, statement), parts.time, parts.random, limits);
      writers.push(writer);
      return writer;
    },
    drained: async () => void (await Promise.all(writers.map((writer) => writer.drained()))),
  };
}

/** The rows themselves are the statement's only parameter, and their outcomes its result. */
function inMemory<Row, Outcome>({
  name,
  bytesOf,
  shareOf,
}: BatchTarget<Row, Outcome>): BatchTarget<Row, Outcome> {
  return {
    name,
    text: '',
    ...(bytesOf === undefined ? {} : { bytesOf }),
    ...(shareOf === undefined ? {} : { shareOf }),
    values: (rows) => [rows],
    outcomes: (_, returned) => returned as readonly Outcome[],
  };
}

const lockMs = 500;

function sender({ time, transit, isLocked }: TwinWritersParts, statement: Statement): Send {
  return async ({ values = [] }, maySend) => {
    if (!maySend()) return undefined;
    const rows = values[0] as readonly object[];
    let outcomes: readonly unknown[] | 'locked';
    if (isLocked(rows)) await sleep(time, lockMs);
    try {
      outcomes = await transit(() => (isLocked(rows) ? 'locked' : statement(rows as readonly never[])));
    } catch (cause) {
      throw new StoreError('unavailable', 'The connection was lost', { cause });
    }
    if (outcomes === 'locked') throw new StoreError('timeout', 'A row is locked');
    return { rows: outcomes as object[], rowCount: outcomes.length, command: '', oid: 0, fields: [] };
  };
}
