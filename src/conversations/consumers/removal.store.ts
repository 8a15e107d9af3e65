import { type Removal, removalFrom, sql } from '../../infra/storage/index.js';

/** For a tenant that is being deleted. */
export const consumerRemovals: readonly Removal[] = [
  removalFrom(sql.fragment`consumer_facts`),
  removalFrom(sql.fragment`consumers`),
];
