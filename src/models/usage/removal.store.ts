import { type Removal, removalFrom, sql } from '../../infra/storage/index.js';
import { forgetCalls, forgetUsage } from './retention.store.js';

/** Later than every row. */
const ever = new Date('9999-01-01');

/** For a tenant that is being deleted. */
export const usageRemovals: readonly Removal[] = [
  (tx, rowsMax) => forgetCalls(tx, ever, rowsMax),
  (tx, rowsMax) => forgetUsage(tx, ever, rowsMax),
  removalFrom(sql.fragment`call_hours`),
  removalFrom(sql.fragment`hour_totals`),
  removalFrom(sql.fragment`call_days`),
  removalFrom(sql.fragment`ledger_days`),
];
