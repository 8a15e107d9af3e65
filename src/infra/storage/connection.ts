// Settings of every connection of the store, except those for migrations.
import type { ClientConfig } from 'pg';
import { z } from 'zod';
import { StoreError } from './errors.js';
import type { StoreRole } from './roles.js';
import { pgTypes } from './type-parsers.js';

export type ConnectionSettings = {
  readonly databaseUrl: string;
  readonly role: StoreRole;
  readonly statementTimeoutMs: number;
  readonly lockTimeoutMs?: number;
  /** The name under which this process claims rows; omit it if no other process can tell when this one has ended. */
  readonly process?: string | undefined;
  /** PostgreSQL settings for these connections only, as name=value. */
  readonly settings?: readonly string[];
};

const connectTimeoutMsDefault = 5_000;
/** Ends the wait for a lock that another transaction does not release. */
const lockTimeoutMsDefault = 5_000;
/** A transaction that pauses holds locks while its caller does something else, so it is ended after this time. */
const idleInTransactionMs = 15_000;
/** Firewalls and balancers forget a silent connection after some minutes; the system's own first probe comes after two hours. */
export const keepAliveDelayMs = 30_000;
/** The server ends a statement at its time-out; after this additional time, the server itself is considered lost. */
const silenceMs = 2_000;

/** What `connect_timeout` of a database's address says, in milliseconds. As for libpq it is in seconds, and 0 counts as none. */
export function connectTimeoutOf(databaseUrl: string | URL, defaultMs: number): number {
  const seconds = Number(new URL(databaseUrl).searchParams.get('connect_timeout') ?? 0);
  return seconds > 0 ? seconds * 1_000 : defaultMs;
}

export function clientConfig(settings: ConnectionSettings): ClientConfig {
  const { databaseUrl, role, statementTimeoutMs, lockTimeoutMs = lockTimeoutMsDefault } = settings;
  const claims = settings.process === undefined ? [] : [`troupe.process=${settings.process}`];
  const own = [`role=${role}`, ...claims, ...(settings.settings ?? [])].map(
    (setting) => `-c ${setting.replaceAll(/[\\\s]/g, String.raw`\$&`)}`,
  );
  const url = new URL(databaseUrl);
  const options = [url.searchParams.get('options'), ...own].filter(Boolean).join(' ');
  url.searchParams.delete('options'); // pg would prefer it over `options` below
  return {
    connectionString: url.href,
    application_name: url.searchParams.get('application_name') ?? role,
    options,
    types: pgTypes,
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveDelayMs,
    connectionTimeoutMillis: connectTimeoutOf(url, connectTimeoutMsDefault),
    statement_timeout: statementTimeoutMs,
    lock_timeout: lockTimeoutMs,
    idle_in_transaction_session_timeout: idleInTransactionMs,
    query_timeout: statementTimeoutMs + silenceMs,
  };
}

type Asking = { query(text: string): Promise<{ readonly rows: readonly unknown[] }> };

const server = z.object({ role: z.string(), is_standby: z.boolean() });

/**
 * The first statement on each connection. A connection pooler may drop startup options; everything would then silently
 * run as the owner. During a failover the address may lead to a standby for a moment: a connection to it stays there, and
 * its reads succeed, without what was committed since.
 */
export async function checkServer(client: Asking, role: StoreRole): Promise<void> {
  const { rows } = await client.query('select current_user as role, pg_is_in_recovery() as is_standby');
  const { role: found, is_standby: isStandby } = server.parse(rows[0]);
  if (found !== role) {
    throw new StoreError(
      'defect',
      `Connected as ${found} instead of ${role}: a proxy or pooler before PostgreSQL drops the startup ` +
        'parameter "options". Set DATABASE_URL to PostgreSQL itself, or to a pooler in session mode that passes it on.',
    );
  }
  if (isStandby) {
    throw new StoreError(
      'unavailable',
      'DATABASE_URL leads to a standby of PostgreSQL. It must lead to the primary; during a failover it does so shortly.',
    );
  }
}
