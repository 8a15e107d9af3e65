// slonik's pools: one per role, entered by a startup option, so that no statement ever runs as the owner.
import { createPool } from 'slonik';
import type { DatabasePool } from 'slonik';
import { resultParser } from './result-parser.js';
import type { StoreRole } from './roles.js';
import { typeParsers } from './type-parsers.js';

export type PoolSettings = {
  readonly databaseUrl: string;
  readonly role: StoreRole;
  readonly connectionsMax: number;
  readonly statementTimeoutMs: number;
};

/** Longer than this, a transaction waits for a lock that somebody forgot. */
const lockTimeoutMs = 5_000;
/** A transaction is statements in a row; one that pauses holds locks while its caller does something else. */
const idleInTransactionMs = 15_000;
const connectTimeoutMs = 5_000;

export async function openPool(settings: PoolSettings): Promise<DatabasePool> {
  return createPool(urlForRole(settings.databaseUrl, settings.role), {
    maximumPoolSize: settings.connectionsMax,
    statementTimeout: settings.statementTimeoutMs,
    idleInTransactionSessionTimeout: idleInTransactionMs,
    connectionTimeout: connectTimeoutMs,
    connectionRetryLimit: 1,
    idleTimeout: 60_000,
    transactionRetryLimit: 3,
    queryRetryLimit: 3,
    typeParsers,
    interceptors: [resultParser],
    // slonik's own reset, DISCARD ALL, would also leave the role of the startup option. All that a
    // transaction sets here is local to it, so nothing is left over.
    resetConnection: async () => undefined,
  });
}

export function urlForRole(databaseUrl: string, role: StoreRole): string {
  const url = new URL(databaseUrl);
  const given = url.searchParams.get('options');
  const own = `-c role=${role} -c lock_timeout=${lockTimeoutMs}`;
  url.searchParams.set('options', given === null ? own : `${given} ${own}`);
  if (!url.searchParams.has('application_name')) url.searchParams.set('application_name', role);
  return url.href;
}
