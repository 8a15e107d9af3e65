import { type Removal, removalFrom, sql } from '../../infra/storage/index.js';

/** For a tenant that is being deleted. */
export const outboxRemovals: readonly Removal[] = [
  removalFrom(sql.fragment`delivery_attempts`),
  removalFrom(sql.fragment`deliveries`),
  removalFrom(sql.fragment`trigger_replies`),
];
