// What `troupe doctor` wants to know of a Redis.
import { Redis } from 'ioredis';

export interface RedisFacts {
  readonly version: string;
  /** What happens when memory is full: anything but `noeviction` may throw away who is alive. */
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
    throw new Error(`Redis does not answer: ${reason instanceof Error ? reason.message : String(error)}`, {
      cause: error,
    });
  } finally {
    redis.disconnect();
  }
}
