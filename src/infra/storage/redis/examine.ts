// Collects facts about Redis for `troupe doctor`.
import { connectRedis, type Time } from '../../../../cluster/index.js';

export interface RedisFacts {
  readonly version: string;
  /** The policy for full memory: with any but `noeviction`, Redis may delete the records of live nodes. */
  readonly evictionPolicy: string;
  /** How many replicas follow the server. */
  readonly replicas: number;
  /** It refuses writes that no replica receives (`min-replicas-to-write`). */
  readonly needsReplicas: boolean;
}

const boundMs = 5_000;

export async function examineRedis(redisUrl: string, time: Time): Promise<RedisFacts> {
  let reason: unknown;
  const closing = new AbortController();
  const redis = connectRedis(
    {
      url: redisUrl,
      commandTimeoutMs: boundMs,
      connectTimeoutMs: boundMs,
      reconnectBaseMs: boundMs,
      reconnectMaxMs: boundMs,
      onError: (error) => {
        reason = error;
      },
      time,
      closed: closing.signal,
    },
    'commands',
  );
  try {
    await redis.connect();
    return factsOf(await redis.info());
  } catch (error) {
    throw new Error(`Redis does not respond: ${reason instanceof Error ? reason.message : String(error)}`, {
      cause: error,
    });
  } finally {
    closing.abort();
  }
}

function factsOf(info: string): RedisFacts {
  const value = (name: string): string | undefined => new RegExp(`^${name}:(\\S+)`, 'm').exec(info)?.[1];
  return {
    version: value('redis_version') ?? 'unknown',
    evictionPolicy: value('maxmemory_policy') ?? 'unknown',
    replicas: Number(value('connected_slaves') ?? 0),
    // Shown only if the setting is above 0; reading the setting itself needs a right that hosted servers refuse.
    needsReplicas: value('min_slaves_good_slaves') !== undefined,
  };
}
