import type { Platform, PlatformLog } from '../../infra/platform/index.js';
import { toPlatformError } from '../../infra/runtime/index.js';
import { PlatformError } from '../../kernel/errors.js';
import {
  migrate,
  openBatchWriters,
  openChangeFeed,
  openHotReads,
  openSharedValues,
  openStore,
  type SharedValues,
  StoreError,
} from '../../infra/storage/index.js';
import { ErrorRecords } from '../../infra/diagnostics/index.js';
import type { NodeEnvironment } from './node-environment.js';

/** The platform of the node, and the values that nodes share in Redis, if there is one. */
export interface Stores {
  readonly platform: Platform;
  readonly shared: SharedValues | undefined;
  readonly errorRecords: ErrorRecords;
}

export async function openStores(environment: NodeEnvironment): Promise<Stores> {
  const { settings, processName: process, time, ids, random, limits, atEnd } = environment;
  const { logger } = environment.log;
  const log: PlatformLog = {
    report: (attempted, error) => logger.error({ error }, attempted),
    note: (what, facts) => logger.info(facts, what),
  };
  const databaseUrl = settings.databaseUrl ?? '';
  await migrate({ databaseUrl, acceptNewer: true, note: log.note });
  const store = await openStore({ databaseUrl, process });
  atEnd(() => store.close());
  const reads = openHotReads({ databaseUrl, time });
  atEnd(() => reads.close());
  const writers = openBatchWriters({ databaseUrl, process, time, random });
  atEnd(() => writers.close());
  const changes = await openChangeFeed({
    databaseUrl,
    time,
    random,
    onProblem: (error) => log.report('reading the change feed', error),
  });
  atEnd(() => changes.close());
  const { redisUrl } = settings;
  const shared =
    redisUrl === undefined
      ? undefined
      : openSharedValues({
          redisUrl,
          time,
          onProblem: (error) => log.report('using shared values in Redis', error),
          newId: () => ids.uuid(),
          answerMsMax: limits.sharedAnswerMsMax,
        });
  atEnd(() => shared?.close());
  const platform = { store, reads, writers, changes, time, ids, random, log };
  const errorRecords = new ErrorRecords({ store, time, ids, node: process, report: log.report });
  atEnd(() => errorRecords.stop());
  return { platform, shared, errorRecords };
}

/** Maps a failure of the store or of an actor call to the answer of the request; undefined for unexpected failures. */
export function refusalOf(error: unknown): PlatformError | undefined {
  if (!(error instanceof StoreError)) return toPlatformError(error);
  if (error.retryable)
    return new PlatformError('service_unavailable', {
      message: 'The database is away or overloaded. Retry in a moment.',
      retryAfterSeconds: 1,
      cause: error,
    });
  if (error.failure === 'invalid-value')
    return new PlatformError('validation_error', {
      message:
        'A value of the request cannot be stored: it is too large, or has characters that a database cannot hold.',
      details: { field: 'request', issue: 'has a value that cannot be stored' },
      cause: error,
    });
  return undefined;
}
