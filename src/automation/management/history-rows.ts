import type { FoundPage, TenantTransaction } from '../../infra/storage/index.js';
import {
  findTriggered,
  listTriggered,
  type TriggeredExecution,
  type TriggeredPage,
} from '../../conversations/sessions/index.js';
import { truncatedAnswers } from '../outbox/deliveries.store.js';

/** An execution of a trigger. `truncated`: text beyond the last chunk of its answer was dropped. */
export type ExecutionRow = Omit<TriggeredExecution, 'answer_cut'> & { readonly truncated: boolean };

/** Newest first. */
export async function listExecutions(
  tx: TenantTransaction,
  triggerId: string,
  page: TriggeredPage,
): Promise<FoundPage<ExecutionRow>> {
  const { rows, hasMore } = await listTriggered(tx, triggerId, page);
  return { rows: await withDeliveries(tx, rows), hasMore };
}

export async function findExecution(
  tx: TenantTransaction,
  triggerId: string,
  id: string,
): Promise<ExecutionRow | null> {
  const row = await findTriggered(tx, triggerId, id);
  const [found] = row === null ? [] : await withDeliveries(tx, [row]);
  return found ?? null;
}

async function withDeliveries(
  tx: TenantTransaction,
  rows: readonly TriggeredExecution[],
): Promise<readonly ExecutionRow[]> {
  const ids = rows.map(({ id }) => id);
  const truncated = await truncatedAnswers(tx.scope, tx, ids);
  // An answer in the response to its sender has no delivery; its execution records the cut.
  return rows.map(({ answer_cut: cut, ...row }) => ({ ...row, truncated: truncated.get(row.id) ?? cut }));
}
