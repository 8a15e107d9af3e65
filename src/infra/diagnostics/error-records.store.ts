import { z } from 'zod';
import { sql, type Store } from '../storage/index.js';

export interface ErrorRow {
  readonly id: string;
  readonly error: string;
  readonly message: string;
  readonly timestamp: string;
  readonly request_id: string | null;
  readonly operation: string | null;
  readonly tenant: string | null;
  readonly execution_id: string | null;
}

const shown = z.object({
  id: z.string(),
  error: z.string(),
  message: z.string(),
  at: z.date(),
  node: z.string(),
  request_id: z.string().nullable(),
  operation: z.string().nullable(),
  tenant: z.string().nullable(),
  execution_id: z.string().nullable(),
});

/** More than are shown: numbers may have gaps. */
const rowsKept = 2_000;

/** Adds the errors of a node and removes those that nobody sees any more. */
export async function insertErrors(store: Store, node: string, rows: readonly ErrorRow[]): Promise<void> {
  await store.directory(async (tx) => {
    await tx.query(sql.typeAlias('nothing')`
      insert into recent_errors
        (id, occurred_at, node, code, message, request_id, operation, about_tenant, execution_id)
      select id, "timestamp", ${node}, error, message, request_id, operation, tenant, execution_id
      from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as given (id uuid, "timestamp" timestamptz, error text,
        message text, request_id text, operation text, tenant uuid, execution_id uuid)`);
    await tx.query(sql.typeAlias('nothing')`
      delete from recent_errors where number <= (select max(number) - ${rowsKept} from recent_errors)`);
  });
}

/** Newest first. */
export function listErrors(store: Store, limit: number): Promise<readonly z.output<typeof shown>[]> {
  return store.directory((tx) =>
    tx.any(sql.type(shown)`
      select id, code as error, message, occurred_at as at, node, request_id, operation, about_tenant as tenant,
        execution_id
      from recent_errors order by occurred_at desc, number desc limit ${limit}`),
  );
}
