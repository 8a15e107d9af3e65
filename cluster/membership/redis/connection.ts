import { Cluster, Redis, type CommonRedisOptions } from 'ioredis';
import { ClusterError } from '../../errors.js';
import { sleep, type Time } from '../../time/time.js';
import { parseRedisAddress } from './address.js';

export type RedisConnection = Redis | Cluster;

export interface ConnectionSettings {
  readonly url: string;
  readonly commandTimeoutMs: number;
  readonly connectTimeoutMs: number;
  readonly reconnectBaseMs: number;
  readonly reconnectMaxMs: number;
  readonly onError: (error: unknown) => void;
  readonly time: Time;
  /** Its abort closes the connection for good. */
  readonly closed: AbortSignal;
}

/**
 * One connection, until `closed`. Commands are neither queued while it is down nor resent: a renewal that executes late
 * would report an outdated state. A server that answers nothing while its socket is open counts as lost after a few
 * commands.
 */
export function connectRedis(settings: ConnectionSettings, purpose: 'commands' | 'hints'): RedisConnection {
  const address = parseRedisAddress(settings.url);
  const retry = (attempt: number): number =>
    Math.min(settings.reconnectMaxMs, settings.reconnectBaseMs * 2 ** Math.min(attempt, 10));
  const options: CommonRedisOptions = {
    connectTimeout: settings.connectTimeoutMs,
    ...(purpose === 'commands'
      ? {
          commandTimeout: settings.commandTimeoutMs,
          socketTimeout: settings.commandTimeoutMs * 3,
          reconnectOnError: leavesReplica(settings),
        }
      : {}),
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    autoResubscribe: true,
    maxRetriesPerRequest: 0,
    retryStrategy: retry,
    noDelay: true,
  };
  const connection = connectTo(address, options, retry);
  connection.on('error', settings.onError);
  keepConnecting(connection, settings);
  return connection;
}

/**
 * A master that becomes a replica keeps its clients, and fails their writes for as long as they stay. The address may lead to
 * the new master by now; while it does not, connections are not made faster than a lost one is made again.
 */
function leavesReplica({ time, reconnectMaxMs }: ConnectionSettings): (error: Error) => boolean {
  let leftAtMs = Number.NEGATIVE_INFINITY;
  return ({ message }) => {
    // A script's failure may quote the error of its command. MASTERDOWN: the replica has lost its master, and reads nothing.
    if (!/\b(READONLY|MASTERDOWN)\b/.test(message)) return false;
    const nowMs = time.monotonicMs();
    if (nowMs - leftAtMs < reconnectMaxMs) return false;
    leftAtMs = nowMs;
    return true;
  };
}

/**
 * ioredis gives a connection up for good if it is told to reconnect while it asks a sentinel for the master. A failover
 * does that: the promotion is published while each client of the dead master asks where it is now.
 */
function keepConnecting(
  connection: RedisConnection,
  { time, closed, reconnectMaxMs }: ConnectionSettings,
): void {
  const connectAgain = (): Promise<void> =>
    sleep(time, reconnectMaxMs, closed).then(() => connection.connect());
  connection.on('end', () => {
    connectAgain().catch(() => {
      // Closed meanwhile; or a failure that `error` reports, and that is retried by ioredis or after the next `end`.
    });
  });
  // ioredis keeps the timer of a silent socket when its connection ends, and would end the next one by it.
  connection.on('close', () => {
    clearTimeout(Reflect.get(connection, 'socketTimeoutTimer') as NodeJS.Timeout | undefined);
    Reflect.set(connection, 'socketTimeoutTimer', undefined);
  });
  closed.addEventListener('abort', () => connection.disconnect(), { once: true });
}

/**
 * Not while it looks for its server, which it may find elsewhere by itself: ioredis' Cluster never comes back if it is told
 * so while it looks up its nodes.
 */
export function reconnect(connection: RedisConnection): void {
  const { status } = connection;
  if (status === 'ready' || (status === 'connect' && connection instanceof Redis))
    connection.disconnect(true);
}

function connectTo(
  address: ReturnType<typeof parseRedisAddress>,
  options: CommonRedisOptions,
  retry: (attempt: number) => number,
): RedisConnection {
  if (address.form === 'single') return new Redis(address.url, { ...options, lazyConnect: true });
  const { username, password, db, isEncrypted } = address.access;
  const access = {
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    ...(isEncrypted ? { tls: {} } : {}),
  };
  if (address.form === 'sentinel') {
    return new Redis({
      ...options,
      ...access,
      db,
      name: address.name,
      sentinels: address.sentinels.map((host) => ({ ...host })),
      sentinelRetryStrategy: retry,
      // Without a bound a sentinel that answers nothing holds the connection back while others would answer.
      ...(options.connectTimeout === undefined ? {} : { sentinelCommandTimeout: options.connectTimeout }),
      failoverDetector: true,
      ...(isEncrypted ? { enableTLSForSentinelMode: true } : {}),
      lazyConnect: true,
    });
  }
  return new Cluster(
    address.nodes.map((host) => ({ ...host })),
    {
      redisOptions: { ...options, ...access },
      clusterRetryStrategy: retry,
      enableOfflineQueue: false,
      lazyConnect: true,
      slotsRefreshTimeout: options.connectTimeout ?? 1_000,
    },
  );
}

/** Waits until commands can be sent; throws if the store cannot be reached at start. */
export async function whenReady(connection: RedisConnection, boundMs: number): Promise<void> {
  let lastError: unknown;
  const remember = (error: unknown): void => {
    lastError = error;
  };
  connection.on('error', remember);
  try {
    await new Promise<void>((resolve, reject) => {
      const bound = AbortSignal.timeout(boundMs);
      const fail = (): void => {
        reject(
          new ClusterError('membership_unavailable', `Redis did not answer within ${boundMs} ms`, {
            cause: lastError,
          }),
        );
      };
      bound.addEventListener('abort', fail, { once: true });
      connection.once('ready', () => {
        bound.removeEventListener('abort', fail);
        resolve();
      });
      // ioredis keeps retrying; the bound above decides.
      connection.connect().catch(remember);
    });
  } finally {
    connection.off('error', remember);
  }
}
