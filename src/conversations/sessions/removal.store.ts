import { type Removal, removalFrom, sql } from '../../infra/storage/index.js';

/** For a tenant that is being deleted. Rows that an execution or a session owns go before it. */
export const sessionRemovals: readonly Removal[] = [
  removalFrom(sql.fragment`messages`),
  removalFrom(sql.fragment`execution_steps`),
  removalFrom(sql.fragment`execution_logs`),
  removalFrom(sql.fragment`ended_by_erasure`),
  removalFrom(sql.fragment`begun_erasures`),
  removalFrom(sql.fragment`executions`),
  removalFrom(sql.fragment`session_participants`),
  removalFrom(sql.fragment`sessions`),
];
