// Values that all nodes may find and nobody would miss: what is kept here can be gone at any moment, and
// a Redis that is away, or slow, is the same as one that holds nothing. So nothing here ever throws, and
// nothing makes its caller wait for long.
import { randomUUID } from 'node:crypto';
import { connectRedis } from '../../../../cluster/index.js';
import type { Time, Timer } from '../../../../cluster/index.js';

export type SharedValues = {
  /** Undefined too where Redis is away. */
  get(key: string): Promise<string | undefined>;
  set(key: string, value: string, keptMs: number): Promise<void>;
  /** Takes a key for the one who asks first; undefined where another has it. True also where Redis is away. */
  claim(key: string, keptMs: number): Promise<Claim | undefined>;
  close(): void;
};

export type Claim = { release(): Promise<void> };

export type SharedValuesOptions = {
  readonly redisUrl: string;
  readonly time: Time;
  /** Hears once that Redis is away, and again only after it has answered. */
  readonly onProblem: (error: unknown) => void;
  readonly answerMsMax?: number;
};

const connectTimeoutMs = 5_000;
/** Far above `answerMsMax`: an answer that comes late is no reason to give up the connection. */
const commandTimeoutMs = 2_000;
/** After an answer that did not come in time, nobody else waits for one until this has passed. */
const restMs = 1_000;

/** Lets go only of what the claimer still holds: a claim that ran out may be another's by now. */
const releaseScript = `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0`;

/** Connects in the background: whoever asks before it stands finds nothing. */
export function openSharedValues(options: SharedValuesOptions): SharedValues {
  const { redisUrl, time, onProblem, answerMsMax = 50 } = options;
  let isWell = true;
  let restUntilMs = Number.NEGATIVE_INFINITY;
  const failed = (error: unknown): void => {
    if (isWell) onProblem(error);
    isWell = false;
  };
  const redis = connectRedis(
    {
      url: redisUrl,
      commandTimeoutMs,
      connectTimeoutMs,
      reconnectBaseMs: 100,
      reconnectMaxMs: 2_000,
      onError: failed,
    },
    'commands',
  );
  redis.connect().catch(failed);

  const ask = async <Answer>(command: () => Promise<Answer>, without: Answer): Promise<Answer> => {
    if (redis.status !== 'ready' || time.monotonicMs() < restUntilMs) return without;
    let patience: Timer | undefined;
    let settled = false;
    const late = new Promise<never>((_resolve, reject) => {
      patience = time.after(answerMsMax, () => {
        // An event loop that was busy for as long has not read what came: that is read first.
        time.soon(() => {
          if (settled) return;
          restUntilMs = time.monotonicMs() + restMs;
          reject(new Error(`Redis did not answer within ${answerMsMax} ms`));
        });
      });
    });
    try {
      const answer = await Promise.race([command(), late]);
      isWell = true;
      return answer;
    } catch (error) {
      failed(error);
      return without;
    } finally {
      settled = true;
      patience?.cancel();
    }
  };

  return {
    get: async (key) => (await ask<string | null>(() => redis.get(key), null)) ?? undefined,
    async set(key, value, keptMs) {
      await ask<unknown>(() => redis.set(key, value, 'PX', keptMs), undefined);
    },
    async claim(key, keptMs) {
      const holder = randomUUID();
      const taken = await ask<string | null>(() => redis.set(key, holder, 'PX', keptMs, 'NX'), 'OK');
      if (taken === null) return undefined;
      return {
        async release() {
          await ask<unknown>(() => redis.eval(releaseScript, 1, key, holder), undefined);
        },
      };
    },
    close: () => redis.disconnect(),
  };
}
