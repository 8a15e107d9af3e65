import { type Removal, removalFrom, sql } from '../../infra/storage/index.js';

/** For a tenant that is being deleted. */
export const inboxRemovals: readonly Removal[] = [
  removalFrom(sql.fragment`trigger_inbox`),
  removalFrom(sql.fragment`trigger_windows`),
];
