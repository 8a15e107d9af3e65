// Optional values shared by all nodes: a value may disappear at any time, and an unavailable or slow Redis counts as an
// empty one. So nothing here throws, and nothing makes its caller wait for long.
import { connectRedis, type Time, type Timers, within } from '../../../../cluster/index.js';
import {
  type CountedWindow,
  type CountingNode,
  exchangeWindows,
  type WindowsOfOthers,
} from './window-counts.js';

export type SharedValues = {
  /** Undefined also if Redis is unavailable. */
  get(key: string): Promise<string | undefined>;
  set(key: string, value: string, keptMs: number): Promise<void>;
  /** Claims a key for the first caller; undefined if another holds it. Succeeds if Redis is unavailable. */
  claim(key: string, keptMs: number): Promise<Claim | undefined>;
  /** Puts this node's counts beside those of the others, and reads theirs; undefined if Redis is unavailable. */
  exchangeWindows(
    node: CountingNode,
    counted: readonly CountedWindow[],
  ): Promise<WindowsOfOthers | undefined>;
  close(): void;
};

export type Claim = { release(): Promise<void> };

export type SharedValuesOptions = {
  readonly redisUrl: string;
  readonly time: Time;
  /** Called once when Redis becomes unavailable, and again only after it has answered. */
  readonly onProblem: (error: unknown) => void;
  /** Names the holder of a claim. */
  readonly newId: () => string;
  readonly answerMsMax: number;
};

const connectTimeoutMs = 5_000;
/** Far above `answerMsMax`: a late answer is no reason to drop the connection. */
const commandTimeoutMs = 2_000;
/** After a late answer, no caller of the same kind waits for Redis for this time. */
const restMs = 1_000;
/**
 * Only requests near their limit wait for the other nodes' counts, and a node that does not wait admits too many: longer
 * than for a cached value, whose reader has another source.
 */
const windowsMsMax = 500;

/** Releases the key only if the claimer still holds it: an expired claim may now belong to another. */
const releaseScript = `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0`;

/** Connects in the background; until then, reads find nothing. */
export function openSharedValues(options: SharedValuesOptions): SharedValues {
  const { redisUrl, time, onProblem, newId, answerMsMax } = options;
  let isWell = true;
  const failed = (error: unknown): void => {
    if (isWell) onProblem(error);
    isWell = false;
  };
  const closing = new AbortController();
  const redis = connectRedis(
    {
      url: redisUrl,
      commandTimeoutMs,
      connectTimeoutMs,
      reconnectBaseMs: 100,
      reconnectMaxMs: 2_000,
      onError: failed,
      time,
      closed: closing.signal,
    },
    'commands',
  );
  redis.connect().catch(failed);

  /** A busy event loop may not have read the answer yet when the time is over: it reads first. */
  const afterReading: Timers = { after: (ms, action) => time.after(ms, () => time.soon(action)) };
  const asking = (msMax: number) => {
    let restUntilMs = Number.NEGATIVE_INFINITY;
    return async <Answer>(command: () => Promise<Answer>, without: Answer): Promise<Answer> => {
      if (redis.status !== 'ready' || time.monotonicMs() < restUntilMs) return without;
      try {
        const answer = await within(afterReading, msMax, command(), () => {
          restUntilMs = time.monotonicMs() + restMs;
          throw new Error(`Redis did not answer within ${msMax} ms`);
        });
        isWell = true;
        return answer;
      } catch (error) {
        failed(error);
        return without;
      }
    };
  };
  const ask = asking(answerMsMax);
  const askForWindows = asking(windowsMsMax);

  return {
    get: async (key) => (await ask<string | null>(() => redis.get(key), null)) ?? undefined,
    async set(key, value, keptMs) {
      await ask<unknown>(() => redis.set(key, value, 'PX', keptMs), undefined);
    },
    async claim(key, keptMs) {
      const holder = newId();
      const taken = await ask<string | null>(() => redis.set(key, holder, 'PX', keptMs, 'NX'), 'OK');
      if (taken === null) return undefined;
      return {
        async release() {
          await ask<unknown>(() => redis.eval(releaseScript, 1, key, holder), undefined);
        },
      };
    },
    exchangeWindows: (node, counted) =>
      askForWindows<WindowsOfOthers | undefined>(() => exchangeWindows(redis, node, counted), undefined),
    close: () => closing.abort(),
  };
}
