// Real processes over a Redis and a database of their own, and an edge in the test's own process that calls.

import { fork, type ChildProcess } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ExecutionContext } from 'ava';
import pg from 'pg';
import { Redis } from 'ioredis';
import { waitMs } from '../../cluster/membership/perspective.js';
import { counterSchema } from '../../cluster/example/postgres-counter.js';
import type { CounterService } from '../../cluster/example/counter.js';
import { clusterConfig, type ClusterConfig } from '../../cluster/config.js';
import { checkTraces, showRefused } from '../../cluster/trace/check.js';
import type { Traced } from '../../cluster/trace/events.js';
import type { Reference } from '../../cluster/activation/service.js';
import { createDatabase } from '../support/database/database.js';
import { eventually } from '../support/clocks/eventually.js';
import { freePort } from '../support/servers/free-port.js';
import { PrivateRedis } from '../support/servers/redis.js';
import type { Told } from './member-process.js';
import { startNode, type ProcessSettings, type RunningNode } from './process-settings.js';

const clusterName = 'test';
const program = fileURLToPath(new URL('member-process.js', import.meta.url));

export interface ClusterOptions {
  readonly workers: number;
  readonly seesExits?: boolean;
  readonly redis?: { readonly persist: boolean };
  readonly config?: Partial<ClusterConfig>;
}

export class WorkerProcess {
  readonly name: string;
  readonly events: string[] = [];
  /** The time of the last event of each kind by name, including `view`. */
  readonly heardAtMs = new Map<string, number>();
  readonly exited: Promise<number | NodeJS.Signals | null>;
  members: readonly string[] = [];
  viewNumber = 0;
  /** Its process id; empty until it is ready. */
  process = '';
  hasEnded = false;
  readonly #child: ChildProcess;

  constructor(settings: ProcessSettings) {
    this.name = settings.name;
    this.#child = fork(program, [JSON.stringify(settings)], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    this.#child.on('message', (message) => this.#hear(message as Told));
    this.exited = new Promise((resolve) => {
      this.#child.once('exit', (code, signal) => {
        this.hasEnded = true;
        resolve(code ?? signal);
      });
    });
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  async end(): Promise<void> {
    this.signal('SIGKILL');
    await this.exited;
  }

  #hear(message: Told): void {
    const name = message.told === 'event' ? message.event : message.told;
    this.heardAtMs.set(name, performance.now());
    if (message.told === 'ready') this.process = message.process;
    else if (message.told === 'view') {
      this.members = message.members;
      this.viewNumber = message.number;
    } else this.events.push(message.event);
  }
}

export class ProcessCluster {
  readonly redis: PrivateRedis;
  readonly workers: WorkerProcess[] = [];
  readonly #options: ClusterOptions;
  readonly #databaseUrl: string;
  #edge: RunningNode | undefined;
  readonly #traces = mkdtempSync(join(tmpdir(), 'troupe-trace-'));
  #started = 0;

  private constructor(options: ClusterOptions, redis: PrivateRedis, databaseUrl: string) {
    this.#options = options;
    this.redis = redis;
    this.#databaseUrl = databaseUrl;
  }

  static async start(t: ExecutionContext, options: ClusterOptions): Promise<ProcessCluster> {
    const database = await createDatabase(t);
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    await client.query(
      `${counterSchema} grant select, insert, update on example_counters, example_additions to troupe_writer;`,
    );
    await client.end();
    const redis = await PrivateRedis.start(options.redis ?? { persist: false });
    const cluster = new ProcessCluster(options, redis, database.url);
    t.teardown(() => cluster.#stop());
    await Promise.all(Array.from({ length: options.workers }, () => cluster.startWorker()));
    cluster.#edge = await startNode(
      await cluster.#settings('edge', ['edge']),
      () => undefined,
      () => undefined,
    );
    await cluster.agreed(cluster.workers);
    await cluster.#ageMark();
    return cluster;
  }

  /**
   * A store with a mark younger than lease and margin removes nobody, which another test covers. By the store's clock
   * this mark is older; each worker has seen the leases of all others.
   */
  async #ageMark(): Promise<void> {
    const store = new Redis(this.redis.url);
    const byMs = waitMs(clusterConfig(this.#options.config)) + 1_000;
    const made = await store.hincrby(`{troupe:${clusterName}}:members`, 'mark-made', -byMs);
    store.disconnect();
    if (made < 0) throw new Error('the store has no mark');
  }

  /** A worker more; ready when it is a member. */
  async startWorker(advertise?: (port: number) => Promise<string>): Promise<WorkerProcess> {
    this.#started += 1;
    const settings = await this.#settings(`worker-${this.#started}`, ['worker'], advertise);
    const worker = new WorkerProcess(settings);
    this.workers.push(worker);
    await eventually(() => worker.process !== '', { timeoutMs: 100_000, what: `${worker.name} is ready` });
    return worker;
  }

  /** These and only these are in the view of each of them, and of the caller. */
  async agreed(workers: readonly WorkerProcess[], timeoutMs = 100_000): Promise<void> {
    const names = workers
      .map((worker) => worker.process)
      .toSorted((a, b) => (a < b ? -1 : 1))
      .join();
    const edge = (): string => this.edge.node.ring.view.members.map((member) => member.process).join();
    const agree = (): boolean =>
      edge() === names && workers.every((worker) => worker.members.join() === names);
    await eventually(agree, { timeoutMs, what: `all agree on ${names}` });
  }

  get edge(): RunningNode {
    if (this.#edge === undefined) throw new Error('not started');
    return this.#edge;
  }

  counter(key: string): Reference<CounterService> {
    return this.edge.node.actor(this.edge.kind, 'a group', key);
  }

  /** Keys whose actors live on that worker now. */
  keysOf(worker: WorkerProcess, count: number): string[] {
    const found: string[] = [];
    const { node, kind } = this.edge;
    for (let index = 0; found.length < count; index += 1) {
      const key = `key-${index}`;
      if (node.ring.ownerOf(node.slotOf(kind, 'a group', key))?.process === worker.process) found.push(key);
    }
    return found;
  }

  async #settings(
    name: string,
    roles: ProcessSettings['roles'],
    advertise?: (port: number) => Promise<string>,
  ): Promise<ProcessSettings> {
    const port = await freePort();
    return {
      name,
      cluster: clusterName,
      redisUrl: this.redis.url,
      databaseUrl: this.#databaseUrl,
      roles,
      seesExits: this.#options.seesExits ?? false,
      port,
      tracePath: join(this.#traces, name),
      ...(this.#options.config === undefined ? {} : { config: this.#options.config }),
      ...(advertise === undefined ? {} : { advertise: await advertise(port) }),
    };
  }

  async #stop(): Promise<void> {
    this.redis.thaw();
    await Promise.all(this.workers.map((worker) => worker.end()));
    await this.#edge?.close();
    await this.redis.stop();
    try {
      this.#checkTraces();
    } finally {
      rmSync(this.#traces, { recursive: true, force: true });
    }
  }

  /** Whatever the test was about: no process took a step that the model does not allow. */
  #checkTraces(): void {
    const events = readdirSync(this.#traces).flatMap((name) =>
      readFileSync(join(this.#traces, name), 'utf8').split('\n').flatMap(tracedOf),
    );
    const { steps, refused } = checkTraces(events, clusterConfig(this.#options.config));
    if (refused !== undefined) throw new Error(`the model does not allow a step: ${showRefused(refused)}`);
    if (steps < this.workers.length * 10) throw new Error(`only ${steps} steps were recorded`);
  }
}

/** A killed process may have written half of its last line. */
function tracedOf(line: string): Traced[] {
  if (!line.endsWith('}')) return [];
  try {
    return [JSON.parse(line) as Traced];
  } catch {
    return [];
  }
}
