// The limit of the same machine: the rows of one finished turn, copied from the platform's tables, are written under
// new ids in transactions of many turns each.
import { randomUUID } from 'node:crypto';
import pg from 'pg';

const tables = ['sessions', 'executions', 'execution_steps', 'execution_logs', 'messages'] as const;
type Row = Record<string, unknown>;
/** The columns to write per table, without columns that the database generates. */
type Columns = ReadonlyMap<string, string>;
type TurnRows = Readonly<Record<(typeof tables)[number], readonly Row[]>>;

/** Returns how many turns per second become durable. */
export async function byHand(
  databaseUrl: string,
  { writers, batch, seconds }: { readonly writers: number; readonly batch: number; readonly seconds: number },
): Promise<number> {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: writers });
  try {
    for (const table of tables) await pool.query(`alter table ${table} no force row level security`);
    const turn = await oneTurn(pool);
    const columns = await columnsOf(pool);
    const startedAt = performance.now();
    const endsAt = startedAt + seconds * 1_000;
    let written = 0;
    const write = async (): Promise<void> => {
      const client = await pool.connect();
      try {
        while (performance.now() < endsAt) {
          await writeTurns(
            client,
            columns,
            Array.from({ length: batch }, () => renamed(turn)),
          );
          written += batch;
        }
      } finally {
        client.release();
      }
    };
    await Promise.all(Array.from({ length: writers }, write));
    return written / ((performance.now() - startedAt) / 1_000);
  } finally {
    await pool.end();
  }
}

async function writeTurns(
  client: pg.PoolClient,
  columns: Columns,
  turns: readonly TurnRows[],
): Promise<void> {
  await client.query('begin');
  for (const table of tables) {
    const rows = JSON.stringify(turns.flatMap((rowsOf) => rowsOf[table]));
    await client.query({
      name: table,
      text: `insert into ${table} (${columns.get(table)})
        select ${columns.get(table)} from json_populate_recordset(null::${table}, $1)`,
      values: [rows],
    });
  }
  await client.query('commit');
}

async function columnsOf(pool: pg.Pool): Promise<Columns> {
  const { rows } = await pool.query<{ name: string; columns: string }>(
    `select table_name as name, string_agg(quote_ident(column_name), ', ') as columns
     from information_schema.columns
     where table_schema = 'public' and is_generated = 'NEVER' group by table_name`,
  );
  return new Map(rows.map(({ name, columns }) => [name, columns]));
}

async function oneTurn(pool: pg.Pool): Promise<TurnRows> {
  const found = await pool.query<{ id: string; session_id: string }>(
    `select id, session_id from executions where outcome = 'COMPLETED' limit 1`,
  );
  const { id, session_id: session } = found.rows[0] ?? { id: '', session_id: '' };
  const rows = async (table: string, column: string, value: string): Promise<readonly Row[]> => {
    const { rows: all } = await pool.query<{ row: Row }>(
      `select to_json(t) as row from ${table} t where ${column} = $1 limit 2`,
      [value],
    );
    return all.map(({ row }) => row);
  };
  return {
    sessions: await rows('sessions', 'id', session),
    executions: await rows('executions', 'id', id),
    execution_steps: await rows('execution_steps', 'execution_id', id),
    execution_logs: await rows('execution_logs', 'execution_id', id),
    messages: await rows('messages', 'execution_id', id),
  };
}

function renamed(turn: TurnRows): TurnRows {
  const session = randomUUID();
  const execution = randomUUID();
  return {
    sessions: turn.sessions.map((row) => ({ ...row, id: session })),
    executions: turn.executions.map((row) => ({ ...row, id: execution, session_id: session })),
    execution_steps: turn.execution_steps.map((row) => ({ ...row, execution_id: execution })),
    execution_logs: turn.execution_logs.map((row) => ({ ...row, execution_id: execution })),
    messages: turn.messages.map((row) => ({
      ...row,
      id: randomUUID(),
      session_id: session,
      execution_id: execution,
    })),
  };
}
