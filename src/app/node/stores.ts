import { systemRandom } from '../../../cluster/index.js';
import { toPlatformError } from '../../infra/runtime/index.js';
import { PlatformError } from '../../kernel/errors.js';
import {
  migrate,
  openBatchWriters,
  openChangeFeed,
  openHotReads,
  openSharedValues,
  openStore,
  StoreError,
} from '../../infra/storage/index.js';
import type { NodeEnvironment } from './node-environment.js';

export type Stores = Awaited<ReturnType<typeof openStores>>;

export async function openStores({ settings, time, sharedAnswerMsMax, report, atEnd }: NodeEnvironment) {
  const databaseUrl = settings.databaseUrl ?? '';
  await migrate({ databaseUrl, acceptNewer: true });
  const store = await openStore({ databaseUrl });
  atEnd(() => store.close());
  const reads = openHotReads({ databaseUrl, time });
  atEnd(() => reads.close());
  const writers = openBatchWriters({ databaseUrl, time, random: systemRandom });
  atEnd(() => writers.close());
  const feed = await openChangeFeed({
    databaseUrl,
    time,
    random: systemRandom,
    onProblem: (error) => report('reading the change feed', error),
  });
  atEnd(() => feed.close());
  const { redisUrl } = settings;
  const shared =
    redisUrl === undefined
      ? undefined
      : openSharedValues({
          redisUrl,
          time,
          onProblem: (error) => report('using shared values in Redis', error),
          ...(sharedAnswerMsMax !== undefined && { answerMsMax: sharedAnswerMsMax }),
        });
  atEnd(() => shared?.close());
  return { store, reads, writers, feed, shared };
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
      cause: error,
    });
  return undefined;
}
