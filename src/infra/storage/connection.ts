// Settings of every connection of the store but the migrations'.
import type { ClientConfig } from 'pg';
import { StoreError } from './errors.js';
import type { StoreRole } from './roles.js';
import { pgTypes } from './type-parsers.js';

export type ConnectionSettings = {
  readonly databaseUrl: string;
  readonly role: StoreRole;
  readonly statementTimeoutMs: number;
  readonly lockTimeoutMs?: number;
  /** Settings of PostgreSQL for these connections alone, as name=value. */
  readonly settings?: readonly string[];
};

const connectTimeoutMs = 5_000;
/** Longer than this, a transaction waits for a lock that somebody forgot. */
const lockTimeoutMsDefault = 5_000;
/** A transaction is statements in a row; one that pauses holds locks while its caller does something else. */
const idleInTransactionMs = 15_000;
/** The server ends a statement at its time-out; past this, the server itself cannot be heard any more. */
const silenceMs = 2_000;

export function clientConfig(settings: ConnectionSettings): ClientConfig {
  const { databaseUrl, role, statementTimeoutMs, lockTimeoutMs = lockTimeoutMsDefault } = settings;
  const own = [`role=${role}`, ...(settings.settings ?? [])].map((setting) => `-c ${setting}`);
  const url = new URL(databaseUrl);
  const options = [url.searchParams.get('options'), ...own].filter(Boolean).join(' ');
  url.searchParams.delete('options'); // pg would prefer it to the setting below
  return {
    connectionString: url.href,
    application_name: url.searchParams.get('application_name') ?? role,
    options,
    types: pgTypes,
    keepAlive: true,
    connectionTimeoutMillis: connectTimeoutMs,
    statement_timeout: statementTimeoutMs,
    lock_timeout: lockTimeoutMs,
    idle_in_transaction_session_timeout: idleInTransactionMs,
    query_timeout: statementTimeoutMs + silenceMs,
  };
}

/** A connection pooler may drop startup options; then all would run as the owner, unseen. */
export function assertRole(rows: readonly unknown[], role: StoreRole): void {
  const [row] = rows;
  const found: unknown =
    typeof row === 'object' && row !== null ? Reflect.get(row, 'current_user') : undefined;
  if (found !== role) {
    throw new StoreError(
      'defect',
      `Connected as ${String(found)} instead of ${role}: something between here and PostgreSQL drops the startup ` +
        'parameter "options". Let DATABASE_URL name PostgreSQL itself, or a pooler in session mode that passes it on.',
    );
  }
}
