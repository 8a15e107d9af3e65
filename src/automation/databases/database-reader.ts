import type { TenantScope } from '../../kernel/tenant-scope.js';
import { invalidField } from '../../kernel/errors.js';
import type { AllowedTables, TableName } from './catalogue/table-name.js';
import type { DatabaseConnection, Target } from './connection/database-connection.js';
import type { Connections } from './connection/connections.js';

/** Values as PostgreSQL's text output; they can be sent back unchanged without loss. */
export type TextRow = Readonly<Record<string, string | null>>;

export interface Selection {
  readonly columns: readonly string[];
  readonly rows: readonly TextRow[];
  /** Whether there are more rows than requested. */
  readonly more: boolean;
}

/** A configured database, opened for repeated reads. */
export interface DatabaseReader {
  /** Null: all tables but the system's. */
  readonly allowedTables: readonly TableName[] | null;
  allows(table: TableName): boolean;
  /**
   * Runs one SELECT in a read-only transaction and reads up to `rowsMax` rows. The text must be the caller's own and
   * never a tenant's; tenant input goes into the values, for `$1`, `$2` …
   */
  select(
    text: string,
    values: readonly (string | null)[],
    options: { readonly rowsMax: number },
  ): Promise<Selection>;
  /** Listens to a channel on a connection of its own. */
  listen(channel: string, hear: DatabaseListeners): Promise<DatabaseListener>;
  /** Whether the configuration is unchanged since this reader was opened. Rejects if it was deleted. */
  isCurrent(): Promise<boolean>;
  /** Settles when the connection for `select` has ended for any reason; the reader is then unusable. */
  readonly closed: Promise<void>;
  close(): Promise<void>;
}

export interface DatabaseListeners {
  onNotification(payload: string): void;
  /** The connection was closed here or lost. No more notifications arrive. */
  onEnd(): void;
}

export interface DatabaseListener {
  close(): Promise<void>;
}

const columnsMax = 1_600;
const rowsLimit = 10_000;
/** Notifications are unsolicited: this bounds their bytes within the time. */
const heardBytesMax = 8 * 1024 * 1024;
const heardPerMs = 10_000;

export async function openReader(
  connections: Connections,
  scope: TenantScope,
  target: Target,
  allowed: AllowedTables,
  isCurrent: () => Promise<boolean>,
  after: (delayMs: number, action: () => void) => { cancel(): void },
): Promise<DatabaseReader> {
  const connection = await connections.keep(scope, target);
  const listeners = new Set<DatabaseConnection>();
  // Statements run one after another, so that each has its own transaction.
  let previous: Promise<unknown> = Promise.resolve();
  const select = (text: string, values: readonly (string | null)[], rowsMax: number): Promise<Selection> =>
    connections.timed((signal) =>
      connection.reading(signal, async () => {
        const bounded = `select * from (${text}\n) as selection limit ${rowsMax + 1}`;
        const { columns, rows } = await connection.run(signal, bounded, values, {
          rowsMax: rowsMax + 1,
          columnsMax,
        });
        const named = rows.slice(0, rowsMax).map((row) => namedRow(columns, row));
        return { columns, rows: named, more: rows.length > rowsMax };
      }),
    );
  return {
    allowedTables: allowed.names,
    allows: (table) => allowed.has(table),
    select: (text, values, { rowsMax }) => {
      if (!Number.isInteger(rowsMax) || rowsMax < 1 || rowsMax > rowsLimit) {
        throw new RangeError(`rowsMax lies between 1 and ${rowsLimit}`);
      }
      const next = previous.then(() => select(text, values, rowsMax));
      previous = next.catch(() => undefined); // its own caller hears of it
      return next;
    },
    listen: async (channel, ears) => {
      const ear = await openEar(connections, scope, target, channel, ears, after);
      listeners.add(ear);
      void ear.closed.then(() => listeners.delete(ear));
      return { close: () => ear.close() };
    },
    isCurrent,
    closed: connection.closed,
    close: async () => {
      await Promise.all([connection, ...listeners].map((one) => one.close()));
    },
  };
}

async function openEar(
  connections: Connections,
  scope: TenantScope,
  target: Target,
  channel: string,
  ears: DatabaseListeners,
  after: (delayMs: number, action: () => void) => { cancel(): void },
): Promise<DatabaseConnection> {
  if (channel === '' || Buffer.byteLength(channel) > 63) {
    throw invalidField('trigger_config.channel', 'must have 1 to 63 bytes');
  }
  const connection = await connections.keep(scope, target);
  try {
    await connections.timed((signal) =>
      connection.listen(signal, channel, (payload) => ears.onNotification(payload)),
    );
  } catch (error) {
    connection.destroy();
    throw error;
  }
  let timer: { cancel(): void } | undefined;
  const allowMore = (): void => {
    connection.allowUnasked(heardBytesMax);
    timer = after(heardPerMs, allowMore);
  };
  allowMore();
  void connection.closed.then(() => {
    timer?.cancel();
    ears.onEnd();
  });
  return connection;
}

/** Own properties only, whatever a column is called. */
function namedRow(columns: readonly string[], row: readonly (string | null)[]): TextRow {
  return Object.fromEntries(columns.map((name, index) => [name, row[index] ?? null]));
}
