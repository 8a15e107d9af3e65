// Collects facts about Redis for `troupe doctor`.
import { Redis } from 'ioredis';

export interface RedisFacts {
  readonly version: string;
  /** The policy for full memory: with any but `noeviction`, Redis may delete the records of live nodes. */
  readonly evictionPolicy: string;
}

export async function examineRedis(redisUrl: string): Promise<RedisFacts> {
  const redis = new Redis(redisUrl, {
    lazyConnect: true,
    connectTimeout: 5_000,
    commandTimeout: 5_000,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  });
  let reason: unknown;
  redis.on('error', (error: unknown) => {
    reason = error;
  });
  try {
    await redis.connect();
    const info = await redis.info();
    return {
      version: /redis_version:(\S+)/.exec(info)?.[1] ?? 'unknown',
      evictionPolicy: /maxmemory_policy:(\S+)/.exec(info)?.[1] ?? 'unknown',
    };
  } catch (error) {
    throw new Error(`Redis does not respond: ${reason instanceof Error ? reason.message : String(error)}`, {
      cause: error,
    });
  } finally {
    redis.disconnect();
  }
}
