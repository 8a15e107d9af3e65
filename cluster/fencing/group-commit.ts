import { ClusterError } from '../errors.js';
import { revision } from '../ids/ids.js';
import { backoffMs } from '../time/backoff.js';
import type { Random, Time } from '../time/time.js';
import type {
  Activated,
  ActivateRequest,
  BusyStamp,
  Fence,
  FencedWrite,
  FenceStore,
  WriteOutcome,
} from './fence.js';

/**
 * Group commit: writes of many actors share one transaction. A batch is sent at once if the store is idle,
 * otherwise when an earlier batch returns; there is no timer. Writes leave in the order in which they became ready: one
 * that is too large for the rest of a batch begins the next one. An actor has at most one write in flight, which
 * keeps its revisions in order; its later writes wait, and are merged where the store can combine them. A merged write
 * that the store refuses is written in its parts: none of them is refused for another.
 *
 * A batch of unknown outcome is submitted again with the same rows until the store answers. Its actors answer
 * nothing meanwhile, and end if a write waits longer than `statementTimeoutMs` (protocol 1.5). Writes that other
 * transactions hold up are submitted again by themselves, beside the other batches, so that they delay no others.
 */
export interface GroupCommitSettings {
  readonly writeBatchMax: number;
  /** By the account of the store's `bytesOf`. */
  readonly writeBatchBytesMax: number;
  readonly writeBatchesInFlight: number;
  readonly writeRetryMs: number;
  readonly statementTimeoutMs: number;
  readonly writeQueueMax: number;
}

/** The result of a committed write. A caller that needs the result must first ask whether it is known. */
export type Committed<Result> =
  | { readonly outcome: 'committed'; readonly result: Result }
  /** An earlier attempt was committed and its answer was lost: what the statements returned is unknown. */
  | { readonly outcome: 'result_lost' };

/** The write side of one activation. */
export interface WriteHolder {
  readonly fence: Fence;
  /** A newer activation exists, or an outcome stayed unknown: no further write is possible. */
  readonly lost: boolean;
  /** Called once, synchronously, when the fence is lost. */
  onLost(listener: (error: ClusterError) => void): void;
  /** Writes that have no outcome yet. */
  readonly unfinished: number;
  /** Starts no further write; writes in flight may still commit. */
  close(error: ClusterError): void;
}

interface Entry<Write, Result> {
  readonly write: Write | undefined;
  readonly stamp: BusyStamp | undefined;
  readonly giveUpAtMs: number;
  readonly resolve: (committed: Committed<Result>) => void;
  readonly reject: (error: Error) => void;
}

class Holder<Write, Result> implements WriteHolder {
  fence: Fence;
  lost = false;
  inFlight = false;
  /** How many of the oldest entries are to be written apart, because the store refused them as one write. */
  apart = 0;
  readonly entries: Entry<Write, Result>[] = [];
  readonly #submit: (holder: Holder<Write, Result>) => void;
  readonly #settings: GroupCommitSettings;
  readonly #time: Time;
  #error: ClusterError | undefined;
  #listener: ((error: ClusterError) => void) | undefined;

  constructor(
    fence: Fence,
    time: Time,
    settings: GroupCommitSettings,
    submit: (holder: Holder<Write, Result>) => void,
  ) {
    this.fence = fence;
    this.#time = time;
    this.#settings = settings;
    this.#submit = submit;
  }

  write(write: Write | undefined, stamp: BusyStamp | undefined): Promise<Committed<Result>> {
    return new Promise((resolve, reject) => {
      if (this.lost) {
        reject(this.#error ?? new ClusterError('fenced', 'the activation has ended'));
        return;
      }
      const { statementTimeoutMs, writeQueueMax } = this.#settings;
      if (this.entries.length >= writeQueueMax) {
        const { kind, key } = this.fence.address;
        const reason = `${this.entries.length} writes of ${kind} ${key} are not finished (writeQueueMax)`;
        reject(new ClusterError('overloaded', reason));
        return;
      }
      const giveUpAtMs = this.#time.monotonicMs() + statementTimeoutMs;
      this.entries.push({ write, stamp, giveUpAtMs, resolve, reject });
      if (!this.inFlight && this.entries.length === 1) this.#submit(this);
    });
  }

  get unfinished(): number {
    return this.entries.length;
  }

  onLost(listener: (error: ClusterError) => void): void {
    this.#listener = listener;
  }

  markLost(error: ClusterError): void {
    const listener = this.#listener;
    this.close(error);
    listener?.(error);
  }

  close(error: ClusterError): void {
    if (this.lost) return;
    this.lost = true;
    this.#error = error;
    this.#listener = undefined;
    for (const entry of this.entries.splice(0)) entry.reject(error);
  }
}

type Settled<Result> = Exclude<WriteOutcome<Result>, { readonly outcome: 'held_up' }>;

interface Flight<Write, Result> {
  readonly holder: Holder<Write, Result>;
  /** The holder's oldest entries, merged into this one write. */
  readonly entries: readonly Entry<Write, Result>[];
  /** Of the oldest entry. */
  readonly giveUpAtMs: number;
  readonly write: Write | undefined;
  readonly stamp: BusyStamp | undefined;
}

export class GroupCommit<Load, Loaded, Write, Result> {
  readonly #store: FenceStore<Load, Loaded, Write, Result>;
  readonly #settings: GroupCommitSettings;
  readonly #time: Time;
  readonly #random: Random;
  #ready: Holder<Write, Result>[] = [];
  #inFlight = 0;
  /** Writes that another transaction held up. */
  readonly #heldUp: Flight<Write, Result>[] = [];
  #repeatsHeldUp = false;
  #scheduled = false;

  constructor(
    store: FenceStore<Load, Loaded, Write, Result>,
    settings: GroupCommitSettings,
    time: Time,
    random: Random,
  ) {
    this.#store = store;
    this.#settings = settings;
    this.#time = time;
    this.#random = random;
  }

  /** Actors whose writes wait for a batch, and writes that wait for another transaction. */
  get waiting(): { readonly ready: number; readonly heldUp: number } {
    return { ready: this.#ready.length, heldUp: this.#heldUp.length };
  }

  activate(request: ActivateRequest<Load>): Promise<Activated<Loaded>> {
    return this.#store.activate(request);
  }

  holder(fence: Fence): WriteHolder & {
    write(write: Write | undefined, stamp: BusyStamp | undefined): Promise<Committed<Result>>;
  } {
    return new Holder<Write, Result>(fence, this.#time, this.#settings, (holder) => {
      this.#ready.push(holder);
      this.#schedule();
    });
  }

  /** Runs after pending promise jobs, so that the writes of one burst share a batch. */
  #schedule(): void {
    if (this.#scheduled || this.#inFlight >= this.#settings.writeBatchesInFlight) return;
    this.#scheduled = true;
    this.#time.soon(() => {
      this.#scheduled = false;
      while (this.#ready.length > 0 && this.#inFlight < this.#settings.writeBatchesInFlight) this.#send();
    });
  }

  #send(): void {
    const { writeBatchMax, writeBatchBytesMax } = this.#settings;
    const flights: Flight<Write, Result>[] = [];
    let taken = 0;
    let bytes = 0;
    for (const holder of this.#ready) {
      if (taken === writeBatchMax) break;
      const flight = holder.lost ? undefined : this.#flightOf(holder);
      bytes += flight?.write === undefined ? 0 : (this.#store.bytesOf?.(flight.write) ?? 0);
      if (flights.length > 0 && bytes > writeBatchBytesMax) break;
      taken += 1;
      if (flight === undefined) continue;
      holder.inFlight = true;
      flights.push(flight);
    }
    this.#ready.splice(0, taken);
    if (flights.length === 0) return;
    this.#inFlight += 1;
    void this.#commit(flights).finally(() => {
      this.#inFlight -= 1;
      if (this.#ready.length > 0) this.#schedule();
    });
  }

  #flightOf(holder: Holder<Write, Result>): Flight<Write, Result> | undefined {
    const { combine } = this.#store;
    const isApart = combine === undefined || holder.apart > 0;
    const entries = isApart ? holder.entries.slice(0, 1) : [...holder.entries];
    const [first, ...others] = entries;
    if (first === undefined) return undefined;
    let { write, stamp } = first;
    for (const later of others) {
      write =
        write === undefined || later.write === undefined
          ? (later.write ?? write)
          : combine?.(write, later.write);
      stamp = later.stamp ?? stamp;
    }
    return { holder, entries, giveUpAtMs: first.giveUpAtMs, write, stamp };
  }

  /** Never rejects: each flight settles with its own outcome. */
  async #commit(flights: readonly Flight<Write, Result>[]): Promise<void> {
    let pending = flights;
    for (let attempt = 0; pending.length > 0; attempt += 1) {
      try {
        await this.#submit(pending);
        return;
      } catch (error) {
        pending = this.#stillPending(pending, error);
        if (pending.length === 0) return;
        await this.#pause(attempt);
      }
    }
  }

  async #submit(flights: readonly Flight<Write, Result>[]): Promise<void> {
    const outcomes = await this.#store.write(flights.map(fencedWrite));
    for (const [index, flight] of flights.entries()) {
      const outcome = outcomes[index];
      if (outcome?.outcome === 'held_up') this.#holdUp(flight, outcome.error);
      else this.#settle(flight, outcome);
    }
  }

  #holdUp(flight: Flight<Write, Result>, cause: Error): void {
    for (const pending of this.#stillPending([flight], cause)) this.#heldUp.push(pending);
    if (this.#repeatsHeldUp || this.#heldUp.length === 0) return;
    this.#repeatsHeldUp = true;
    void this.#repeatHeldUp();
  }

  /** Never rejects. */
  async #repeatHeldUp(): Promise<void> {
    for (let attempt = 0; this.#heldUp.length > 0; attempt += 1) {
      await this.#pause(attempt);
      await this.#commit(this.#heldUp.splice(0));
      if (this.#ready.length > 0) this.#schedule();
    }
    this.#repeatsHeldUp = false;
  }

  #settle({ holder, entries }: Flight<Write, Result>, outcome: Settled<Result> | undefined): void {
    holder.inFlight = false;
    if (outcome === undefined || outcome.outcome === 'fenced') {
      const { kind, key } = holder.fence.address;
      // A holder that was closed meanwhile has already rejected its entries.
      if (!holder.lost)
        holder.markLost(new ClusterError('fenced', `a newer activation of ${kind} ${key} exists`));
      return;
    }
    // Closing rejected the entries. A committed write stands, but an ended activation must not report it.
    if (holder.lost) return;
    if (outcome.outcome === 'rejected' && entries.length > 1) {
      holder.apart = entries.length;
      this.#ready.push(holder);
      return;
    }
    if (holder.apart > 0) holder.apart -= 1;
    holder.entries.splice(0, entries.length);
    if (outcome.outcome === 'written') {
      holder.fence = { ...holder.fence, revision: revision(holder.fence.revision + 1) };
      const { result } = outcome;
      const committed: Committed<Result> =
        result === undefined ? { outcome: 'result_lost' } : { outcome: 'committed', result };
      for (const { resolve } of entries) resolve(committed);
    } else {
      const { kind } = holder.fence.address;
      const message = `a write of ${kind} was rejected by the store: ${outcome.error.message}`;
      const error = new ClusterError('write_rejected', message, { cause: outcome.error });
      for (const { reject } of entries) reject(error);
    }
    if (holder.entries.length > 0) this.#ready.push(holder);
  }

  #stillPending(flights: readonly Flight<Write, Result>[], cause: unknown): Flight<Write, Result>[] {
    const now = this.#time.monotonicMs();
    return flights.filter(({ holder, giveUpAtMs }) => {
      if (holder.lost) return false;
      if (now < giveUpAtMs) return true;
      holder.inFlight = false;
      holder.markLost(
        new ClusterError('outcome_unknown', 'the store did not confirm the write in time', { cause }),
      );
      return false;
    });
  }

  #pause(attempt: number): Promise<void> {
    const backoff = { baseMs: this.#settings.writeRetryMs, maxMs: this.#settings.writeRetryMs * 16 };
    return new Promise((resolve) => {
      this.#time.after(backoffMs(attempt, backoff, this.#random), resolve);
    });
  }
}

function fencedWrite<Write, Result>({ holder, write, stamp }: Flight<Write, Result>): FencedWrite<Write> {
  return { fence: holder.fence, stamp, write };
}
