import { z } from 'zod';
import type { Sealer } from '../../infra/sealing/index.js';
import { type DirectoryTransaction, sql, type Store } from '../../infra/storage/index.js';
import { SealedValues } from './sealed-values.js';

const rowsMax = 500;

const staleRow = z.object({
  tenant_id: z.uuid(),
  id: z.uuid(),
  execution_id: z.uuid(),
  sealed: z.string(),
  sealed_edit: z.string().nullable(),
});
type StaleRow = z.output<typeof staleRow>;

/** One table with sealed values: its rows under a former key, in the order of their keys, and the change of one. */
interface Place {
  stale(tx: DirectoryTransaction, sealer: Sealer, after: StaleRow | undefined): Promise<readonly StaleRow[]>;
  replace(tx: DirectoryTransaction, row: StaleRow, anew: (sealed: string) => string): Promise<void>;
}

/**
 * Seals the values of all tenants' executions and approvals again under the current master key. Must not run before
 * every node knows that key.
 */
export async function resealExecutionValues(store: Store, sealer: Sealer): Promise<void> {
  const values = new SealedValues(sealer);
  for (const place of [inputs, bindings, approvals]) {
    let last: StaleRow | undefined;
    do {
      const after = last;
      const rows = await store.directory((tx) => place.stale(tx, sealer, after));
      // Each alone: actors write many of these rows at once in their own order, and two orders would lock each other out.
      for (const row of rows) {
        const anew = (sealed: string): string =>
          values.seal(values.unseal(sealed, row.execution_id), row.execution_id);
        await store.directory((tx) => place.replace(tx, row, anew));
      }
      last = rows.length < rowsMax ? undefined : rows.at(-1);
    } while (last !== undefined);
  }
}

type Column = ReturnType<typeof sql.fragment>;

/** A value that has gone since is not written again. */
function executionsWith(column: Column): Place {
  return {
    stale: (tx, sealer, after) =>
      tx.any(sql.type(staleRow)`
        select tenant_id, id, id as execution_id, ${column} as sealed, null as sealed_edit from executions
        where ${isStale(column, sealer)} ${rowsAfter(after)}
        order by tenant_id, id limit ${rowsMax}`),
    async replace(tx, { tenant_id, id, sealed }, anew) {
      await tx.query(sql.typeAlias('nothing')`
        update executions set ${column} = ${anew(sealed)}
        where tenant_id = ${tenant_id} and id = ${id} and ${column} = ${sealed}`);
    },
  };
}

const inputs = executionsWith(sql.fragment`sealed_input`);
const bindings = executionsWith(sql.fragment`sealed_bindings`);

/** Neither value changes once it is there. */
const approvals: Place = {
  stale: (tx, sealer, after) =>
    tx.any(sql.type(staleRow)`
      select tenant_id, id, execution_id, sealed_arguments as sealed, sealed_edit from approvals
      where (${isStale(sql.fragment`sealed_arguments`, sealer)}
          or coalesce(${isStale(sql.fragment`sealed_edit`, sealer)}, false)) ${rowsAfter(after)}
      order by tenant_id, id limit ${rowsMax}`),
  async replace(tx, { tenant_id, id, sealed, sealed_edit: edit }, anew) {
    await tx.query(sql.typeAlias('nothing')`
      update approvals set sealed_arguments = ${anew(sealed)},
        sealed_edit = coalesce(${edit === null ? null : anew(edit)}, sealed_edit)
      where tenant_id = ${tenant_id} and id = ${id}`);
  },
};

function isStale(column: Column, { mark }: Sealer) {
  return sql.fragment`
    substring(decode(${column}, 'base64') from 1 for ${mark.byteLength}) <> ${sql.binary(Buffer.from(mark))}`;
}

function rowsAfter(after: StaleRow | undefined) {
  return after === undefined
    ? sql.fragment``
    : sql.fragment`and (tenant_id, id) > (${after.tenant_id}::uuid, ${after.id}::uuid)`;
}
