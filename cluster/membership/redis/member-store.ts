import type { ClusterConfig } from '../../config.js';
import { ClusterError } from '../../errors.js';
import type { Random, Time } from '../../time/time.js';
import type {
  Departed,
  Lease,
  MemberStore,
  Publication,
  RemovalOutcome,
  RemovalRequest,
  Renewal,
  Snapshot,
} from '../member-store.js';
import type { View } from '../membership.js';
import { StoreClock } from '../store-clock.js';
import { connectRedis, reconnect, whenReady, type RedisConnection } from './connection.js';
import { leaseText, parseState, placeIn, viewText, type WholeState } from './record.js';
import { Script } from './scripts.js';

export interface RedisMembersOptions {
  readonly url: string;
  /** Clusters that share a Redis need different names. */
  readonly cluster: string;
  readonly config: ClusterConfig;
  readonly random: Random;
  readonly time: Time;
  /** A lost connection is not an error of its own: the next command fails. */
  readonly onError?: (error: unknown) => void;
}

/** Longer than any view names a process that has left. */
const departedKeptMs = 600_000;
const removalOutcomes = ['removed', 'refuted', 'more_votes', 'too_early', 'late'] as const;

/**
 * Three connections: other commands must not delay a renewal, and a subscribed connection can send no other command.
 */
export async function openRedisMembers(options: RedisMembersOptions): Promise<MemberStore> {
  const { url, config } = options;
  const closing = new AbortController();
  const settings = {
    url,
    commandTimeoutMs: config.memberStoreTimeoutMs,
    connectTimeoutMs: config.memberStoreTimeoutMs,
    reconnectBaseMs: config.reconnectBaseMs,
    reconnectMaxMs: Math.min(config.reconnectMaxMs, config.leaseRenewMs / 2),
    onError: (error: unknown) => options.onError?.(error),
    time: options.time,
    closed: closing.signal,
  };
  const leases = connectRedis(settings, 'commands');
  const others = connectRedis(settings, 'commands');
  const hints = connectRedis(settings, 'hints');
  const connections = [leases, others, hints];
  try {
    await Promise.all(connections.map((connection) => whenReady(connection, config.memberStoreStartMs)));
    const store = new RedisMemberStore(options, leases, others, hints, closing);
    await store.listen();
    return store;
  } catch (error) {
    closing.abort();
    throw error;
  }
}

class RedisMemberStore implements MemberStore {
  readonly #random: Random;
  readonly #leases: RedisConnection;
  readonly #others: RedisConnection;
  readonly #hints: RedisConnection;
  readonly #closing: AbortController;
  readonly #listeners = new Set<() => void>();
  readonly #lateMaxMs: number;
  /** One for each connection: during a failover they may reach two servers. */
  readonly #leasesClock: StoreClock;
  readonly #othersClock: StoreClock;
  readonly #members: string;
  /** What the scripts that return the state are called with. */
  readonly #stateKeys: readonly string[];
  readonly #votes: string;
  readonly #channel: string;
  readonly #renew = new Script('packing', 'renew');
  readonly #snapshot = new Script('packing', 'snapshot');
  readonly #publish = new Script('publish');
  readonly #remove = new Script('remove');
  readonly #release = new Script('release');
  /** As the last answer told it. */
  #known: WholeState | undefined;

  constructor(
    { cluster, random, time, config }: RedisMembersOptions,
    leases: RedisConnection,
    others: RedisConnection,
    hints: RedisConnection,
    closing: AbortController,
  ) {
    this.#random = random;
    this.#lateMaxMs = config.memberStoreTimeoutMs;
    this.#leasesClock = new StoreClock(time);
    this.#othersClock = new StoreClock(time);
    this.#leases = leases;
    this.#others = others;
    this.#hints = hints;
    this.#closing = closing;
    // One hash tag, so that all keys of a cluster are in one slot of a Redis Cluster.
    this.#members = `{troupe:${cluster}}:members`;
    this.#stateKeys = [this.#members, `{troupe:${cluster}}:packed`];
    this.#votes = `{troupe:${cluster}}:voices`;
    this.#channel = `{troupe:${cluster}}:changed`;
  }

  async listen(): Promise<void> {
    this.#hints.on('message', () => {
      for (const listener of this.#listeners) listener();
    });
    await this.#hints.subscribe(this.#channel);
  }

  async renew(lease: Lease, knownGeneration: string | undefined, replaced?: string): Promise<Renewal> {
    if (!this.#leasesClock.isSet) await this.#read(this.#leases, this.#leasesClock);
    const known = this.#known;
    const answer = await this.#renew.run(this.#leases, this.#stateKeys, [
      lease.member.process,
      lease.renewals,
      leaseText(lease),
      knownGeneration ?? '',
      this.#random.id(),
      this.#channel,
      this.#leasesClock.nowMs(),
      this.#lateMaxMs,
      replaced ?? '',
      known?.layout ?? '',
      placeIn(known, lease.member.process) ?? '',
    ]);
    if (!Array.isArray(answer)) throw unexpected('renew');
    this.#leasesClock.saw(Number(answer[1]));
    return { renewed: answer[0] === 1, late: answer[0] === 2, ...this.#parse(answer.slice(2), known) };
  }

  snapshot(): Promise<Snapshot> {
    return this.#read(this.#others, this.#othersClock);
  }

  async #read(connection: RedisConnection, clock: StoreClock): Promise<Snapshot> {
    const known = this.#known;
    const values = [this.#random.id(), known?.layout ?? ''];
    const answer = await this.#snapshot.run(connection, this.#stateKeys, values);
    if (!Array.isArray(answer)) throw unexpected('snapshot');
    clock.saw(Number(answer[0]));
    return this.#parse(answer.slice(1), known);
  }

  /** `known` is what the request named: another answer may have come meanwhile. */
  #parse(answer: readonly unknown[], known: WholeState | undefined): Snapshot {
    // After an answer that cannot be read, the next one is whole.
    this.#known = undefined;
    this.#known = parseState(answer, known);
    return this.#known.snapshot;
  }

  async publish(view: View, { generation, follows }: Publication): Promise<boolean> {
    const base =
      follows === undefined ? '' : follows.number === 0 ? 'none' : `${follows.number} ${follows.hash}`;
    if (!this.#othersClock.isSet) await this.snapshot();
    const sentMs = this.#othersClock.nowMs();
    const values = [generation, viewText(view), base, this.#channel, sentMs, this.#lateMaxMs];
    const answer = await this.#publish.run(this.#others, [this.#members], values);
    if (!Array.isArray(answer)) throw unexpected('publish');
    this.#othersClock.saw(Number(answer[1]));
    return answer[0] === 1;
  }

  async remove(request: RemovalRequest): Promise<RemovalOutcome> {
    const { generation, process, renewals, voter, votesNeeded, voteMs, silenceMs } = request;
    if (!this.#othersClock.isSet) await this.snapshot();
    const sent = [this.#othersClock.nowMs(), this.#lateMaxMs];
    const answer = await this.#remove.run(
      this.#others,
      [this.#members, this.#votes],
      [generation, process, renewals, voter, votesNeeded, voteMs, silenceMs, this.#channel, ...sent],
    );
    if (!Array.isArray(answer)) throw unexpected('remove');
    this.#othersClock.saw(Number(answer[2]));
    const outcome = removalOutcomes.find((one) => one === answer[0]);
    if (outcome === undefined) throw unexpected('remove');
    return { outcome, silentMs: Number(answer[1]) };
  }

  async release({ process, promisedMs }: Departed): Promise<void> {
    const values = [process, promisedMs, departedKeptMs, this.#channel];
    await this.#release.run(this.#others, [this.#members], values);
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  reconnect(): void {
    for (const connection of [this.#leases, this.#others, this.#hints]) reconnect(connection);
  }

  close(): Promise<void> {
    this.#listeners.clear();
    this.#closing.abort();
    return Promise.resolve();
  }
}

function unexpected(script: string): ClusterError {
  return new ClusterError('membership_unavailable', `${script}.lua returned an unexpected result`);
}
