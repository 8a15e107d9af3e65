/** How the actors' connections are opened, and what is asked of the server first. */
import type pg from 'pg';
import { ClusterError } from '../../errors.js';

export interface ServerOptions {
  readonly databaseUrl: string;
  /** Role set on each connection; its policies let one batch write rows of many groups. */
  readonly role?: string;
  readonly statementTimeoutMs: number;
  /** How long a statement waits for a lock; by default as long as it may run. */
  readonly lockTimeoutMs?: number;
  readonly connectTimeoutMs: number;
}

/**
 * Without these settings PostgreSQL replans a statement several times, which costs more than running it, for the same
 * plan. It also keeps a plan made for a small table for a minute or more, which would scan the whole table: every row
 * is found by its key.
 */
const planning = [
  'plan_cache_mode=force_generic_plan',
  'enable_seqscan=off',
  'enable_hashjoin=off',
  'enable_mergejoin=off',
];

/**
 * Firewalls and balancers forget a silent connection after some minutes and report it to nobody: the next statement would
 * wait for its whole time-out. The system's own first probe comes after two hours.
 */
const keepAliveDelayMs = 30_000;

/** Time beyond the server's statement time-out after which the connection counts as dead. */
const timeoutMarginMs = 2_000;

export function clientConfig(options: ServerOptions): pg.ClientConfig {
  const { role, statementTimeoutMs, lockTimeoutMs = statementTimeoutMs, connectTimeoutMs } = options;
  const own = [...(role === undefined ? [] : [`role=${role}`]), ...planning].map(
    (setting) => `-c ${setting.replaceAll(/[\\\s]/g, String.raw`\$&`)}`,
  );
  const url = new URL(options.databaseUrl);
  const given = url.searchParams.get('options');
  // pg would take only the options of the address.
  url.searchParams.delete('options');
  return {
    connectionString: url.href,
    // The last one that names a setting counts.
    options: [...(given === null ? [] : [given]), ...own].join(' '),
    application_name: 'troupe actors',
    connectionTimeoutMillis: connectTimeoutMs,
    statement_timeout: statementTimeoutMs,
    lock_timeout: lockTimeoutMs,
    idle_in_transaction_session_timeout: statementTimeoutMs,
    query_timeout: statementTimeoutMs + timeoutMarginMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveDelayMs,
    pipeline: true,
  };
}

interface Server {
  readonly role: string;
  readonly is_standby: boolean;
  readonly is_read_only: boolean;
}

const ask = `select current_user as role, pg_is_in_recovery() as is_standby,
  current_setting('transaction_read_only')::boolean as is_read_only`;

/**
 * The first statement on each connection. During a failover the address may lead to a standby for a moment, or to a
 * primary that does not write yet: a connection to it stays there and fails at each write, or answers a read without what
 * was committed since. A pooler may drop the options of a connection: all rows would silently be written as the owner.
 */
export async function checkServer(client: pg.Client, role: string | undefined): Promise<void> {
  const [server] = (await client.query<Server>(ask)).rows;
  const problem = server === undefined ? 'it does not say who it is' : problemOf(server, role);
  if (problem !== undefined) throw new ClusterError('store_unavailable', `PostgreSQL: ${problem}`);
}

function problemOf(server: Server, role: string | undefined): string | undefined {
  if (role !== undefined && server.role !== role) {
    return `connected as ${server.role} instead of ${role}: a proxy or pooler drops the startup parameter "options"`;
  }
  if (server.is_standby) return 'the address leads to a standby, not to the primary';
  return server.is_read_only ? 'it is read-only (default_transaction_read_only is on)' : undefined;
}
