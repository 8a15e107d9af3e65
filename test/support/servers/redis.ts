// A real Redis for tests: one that files share, and private ones that a test may kill, freeze and flush.

import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { eventually } from '../clocks/eventually.js';
import { freePort } from './free-port.js';
import { redisBinary } from './redis-binary.js';

export interface PrivateRedisOptions {
  /** Keep the data over a restart (append-only file, written at once). Without it a restart forgets all. */
  persist?: boolean;
  /** Run as a cluster of this one node, which holds every slot. */
  cluster?: boolean;
  /** Follow this server as its replica. */
  replicaOf?: PrivateRedis;
  /** Run as a sentinel that watches this server under the name `troupe`. */
  sentinelOf?: PrivateRedis;
}

let shared: Promise<string> | undefined;

/**
 * The address of a Redis that holds nothing dear: REDIS_URL where set, else a server of this test process.
 * Keys must carry a name that the test made up, since other tests use the same server.
 */
export function sharedRedisUrl(): Promise<string> {
  shared ??= (async () => process.env['REDIS_URL'] ?? (await PrivateRedis.start()).url)();
  return shared;
}

/** A server of one test. It ends with the test process at the latest. */
export class PrivateRedis {
  readonly host = '127.0.0.1';
  readonly port: number;
  readonly #folder: string;
  readonly #options: PrivateRedisOptions;
  #child: ChildProcess | undefined;

  private constructor(port: number, options: PrivateRedisOptions) {
    this.port = port;
    this.#options = options;
    this.#folder = mkdtempSync(join(tmpdir(), 'troupe-redis-'));
    process.once('exit', this.#end);
  }

  static async start(options: PrivateRedisOptions = {}): Promise<PrivateRedis> {
    const server = new PrivateRedis(await freePort(), options);
    await server.restart();
    return server;
  }

  get url(): string {
    return `redis://${this.host}:${this.port}`;
  }

  /** Starts it again on the same port; ends a running one first, without asking it. */
  async restart(): Promise<void> {
    await this.kill();
    const child = spawn(redisBinary(), this.#arguments(), { cwd: this.#folder, stdio: 'ignore' });
    // A test process may end without asking after the shared server; `#end` ends it then.
    child.unref();
    this.#child = child;
    await eventually(() => this.#answers(child), { timeoutMs: 20_000, what: 'Redis answers PING' });
    if (this.#options.cluster === true) await this.#takeAllSlots();
    if (this.#options.sentinelOf !== undefined) await this.#lookAwayBriefly();
  }

  /** As a power cut would end it. */
  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    // Its end is awaited now, even if nothing else keeps this process going.
    child.ref();
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  }

  /** Connections stay open and nothing answers, until `thaw`. */
  freeze(): void {
    this.#child?.kill('SIGSTOP');
  }

  thaw(): void {
    this.#child?.kill('SIGCONT');
  }

  /** Forgets every key, the generation mark too. */
  async flush(): Promise<void> {
    await this.command((redis) => redis.flushall());
  }

  /** Runs commands over a connection of their own. */
  async command<T>(use: (redis: Redis) => Promise<T>): Promise<T> {
    const redis = new Redis({
      host: this.host,
      port: this.port,
      lazyConnect: true,
      retryStrategy: null,
      enableReadyCheck: false,
      commandTimeout: 5_000,
    });
    redis.on('error', () => {
      // The command below rejects with the same failure; without a listener ioredis prints it as well.
    });
    try {
      await redis.connect();
      return await use(redis);
    } finally {
      redis.disconnect();
    }
  }

  async stop(): Promise<void> {
    await this.kill();
    process.off('exit', this.#end);
    rmSync(this.#folder, { recursive: true, force: true });
  }

  readonly #end = (): void => {
    this.#child?.kill('SIGKILL');
    rmSync(this.#folder, { recursive: true, force: true });
  };

  #arguments(): string[] {
    const { persist, cluster, replicaOf, sentinelOf } = this.#options;
    const common = ['--port', String(this.port), '--bind', this.host, '--dir', this.#folder];
    if (sentinelOf !== undefined) return [this.#sentinelFile(sentinelOf), '--sentinel', ...common];
    return [
      ...common,
      '--save',
      '',
      '--appendonly',
      persist === true ? 'yes' : 'no',
      '--appendfsync',
      'always',
      ...(cluster === true ? ['--cluster-enabled', 'yes', '--cluster-announce-ip', this.host] : []),
      ...(replicaOf === undefined ? [] : ['--replicaof', replicaOf.host, String(replicaOf.port)]),
    ];
  }

  /** A sentinel rewrites its own file, so it is made anew at each start. */
  #sentinelFile(watched: PrivateRedis): string {
    const path = join(this.#folder, 'sentinel.conf');
    const lines = [
      `sentinel monitor troupe ${watched.host} ${watched.port} 1`,
      'sentinel down-after-milliseconds troupe 5000',
      'sentinel failover-timeout troupe 3000',
    ];
    writeFileSync(path, `${lines.join('\n')}\n`);
    return path;
  }

  /**
   * A sentinel that stalled for two seconds does nothing for 30 s, unless told otherwise. It promotes no replica whose
   * link broke more than ten times `down-after` before it saw the master down, which two stalls exceed.
   */
  async #lookAwayBriefly(): Promise<void> {
    await this.command((redis) => redis.call('SENTINEL', 'DEBUG', 'tilt-period', '2000'));
  }

  async #answers(child: ChildProcess): Promise<boolean> {
    if (child.exitCode !== null) throw new Error(`Redis on port ${this.port} ended with ${child.exitCode}`);
    try {
      return (await this.command((redis) => redis.ping())) === 'PONG';
    } catch {
      // Not listening yet, or still loading its file; the bound is the caller's.
      return false;
    }
  }

  async #takeAllSlots(): Promise<void> {
    await this.command(async (redis) => {
      if (!(await redis.cluster('INFO')).includes('cluster_slots_assigned:16384')) {
        await redis.call('CLUSTER', 'ADDSLOTSRANGE', '0', '16383');
      }
      await eventually(async () => (await redis.cluster('INFO')).includes('cluster_state:ok'), {
        timeoutMs: 10_000,
        what: 'the one-node cluster is ready',
      });
    });
  }
}
