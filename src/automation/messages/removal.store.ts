import { type Removal, removalFrom, sql } from '../../infra/storage/index.js';

/** For a tenant that is being deleted. */
export const mailRemovals: readonly Removal[] = [removalFrom(sql.fragment`trigger_mails`)];
