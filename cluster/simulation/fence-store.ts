import { ClusterError } from '../errors.js';
import type { Activated, ActivateRequest, FencedWrite, FenceStore, WriteOutcome } from '../fencing/fence.js';
import { addressText, epoch, revision, type ActivationId, type ProcessId } from '../ids/ids.js';

/** How a simulated store fails; judged for each transaction when it is handed in. */
export interface StoreFaults {
  /** Milliseconds until the transaction is made, and from there until its answer arrives. */
  delayMs(): number;
  /** `away`: never made. `unknown`: made or not, and the connection is lost during COMMIT. */
  fault(): 'none' | 'away' | 'unknown_made' | 'unknown_not_made';
}

export interface StoreRow {
  epoch: number;
  activationId: ActivationId;
  revision: number;
  busyProcess: ProcessId | undefined;
  busyUntilMs: number;
}

/** What a kind's writes do to its data; the store runs them under the fence. */
export interface MemoryTables<Load, Loaded, Write, Result> {
  load(load: Load): Loaded;
  /** Throws to reject the write; nothing of it may be made then. */
  apply(write: Write): Result;
}

interface Waiter {
  after(delayMs: number, action: () => void): unknown;
  wallMs(): number;
}

/** The memory twin of the durable store: one transaction at a time, each in one instant of the virtual clock. */
export class MemoryFenceStore<Load, Loaded, Write, Result> implements FenceStore<
  Load,
  Loaded,
  Write,
  Result
> {
  readonly rows = new Map<string, StoreRow>();
  readonly #tables: MemoryTables<Load, Loaded, Write, Result>;
  readonly #time: Waiter;
  readonly #faults: StoreFaults;
  /** Bugs that a test plants to see its checkers find them. */
  readonly #isFenced: boolean;

  constructor(
    tables: MemoryTables<Load, Loaded, Write, Result>,
    time: Waiter,
    faults: StoreFaults,
    options: { readonly isFenced?: boolean } = {},
  ) {
    this.#tables = tables;
    this.#time = time;
    this.#faults = faults;
    this.#isFenced = options.isFenced ?? true;
  }

  activate(request: ActivateRequest<Load>): Promise<Activated<Loaded>> {
    return this.#transaction(() => {
      const text = addressText(request.address);
      const now = this.#time.wallMs();
      const row = this.rows.get(text);
      const busy = row?.busyProcess;
      if (row !== undefined && busy !== undefined && row.busyUntilMs > now && !request.ignoreStampsOf(busy)) {
        return { outcome: 'busy', process: busy, remainingMs: row.busyUntilMs - now };
      }
      const raised: StoreRow = {
        epoch: (row?.epoch ?? 0) + 1,
        activationId: request.activationId,
        revision: row?.revision ?? 0,
        busyProcess: undefined,
        busyUntilMs: 0,
      };
      this.rows.set(text, raised);
      return {
        outcome: 'activated',
        fence: {
          address: request.address,
          epoch: epoch(raised.epoch),
          activationId: raised.activationId,
          revision: revision(raised.revision),
        },
        loaded: this.#tables.load(request.load),
      };
    });
  }

  write(batch: readonly FencedWrite<Write>[]): Promise<readonly WriteOutcome<Result>[]> {
    return this.#transaction(() => batch.map((one) => this.#write(one)));
  }

  #write({ fence, stamp, write }: FencedWrite<Write>): WriteOutcome<Result> {
    const row = this.rows.get(addressText(fence.address));
    if (row === undefined) return { outcome: 'fenced' };
    if (this.#isFenced && (row.epoch !== fence.epoch || row.activationId !== fence.activationId)) {
      return { outcome: 'fenced' };
    }
    // Only this activation raises the revision: it stands one higher because this very write was made before.
    if (row.revision === fence.revision + 1) return { outcome: 'written', result: undefined };
    // Any other: the store failed over to a replica that had not heard of our last writes.
    if (this.#isFenced && row.revision !== fence.revision) return { outcome: 'fenced' };
    try {
      const result = write === undefined ? undefined : this.#tables.apply(write);
      row.revision = fence.revision + 1;
      if (stamp?.set === 'busy') {
        row.busyProcess = stamp.process;
        row.busyUntilMs = this.#time.wallMs() + stamp.forMs;
      } else if (stamp?.set === 'free') {
        row.busyProcess = undefined;
        row.busyUntilMs = 0;
      }
      return { outcome: 'written', result };
    } catch (error) {
      return { outcome: 'rejected', error: error instanceof Error ? error : new Error(String(error)) };
    }
  }

  #transaction<Value>(make: () => Value): Promise<Value> {
    return new Promise((resolve, reject) => {
      const fault = this.#faults.fault();
      this.#time.after(this.#faults.delayMs(), () => {
        if (fault === 'away') {
          this.#time.after(this.#faults.delayMs(), () => reject(away()));
          return;
        }
        if (fault === 'unknown_not_made') {
          this.#time.after(this.#faults.delayMs(), () => reject(lost()));
          return;
        }
        const value = make();
        this.#time.after(this.#faults.delayMs(), () =>
          fault === 'unknown_made' ? reject(lost()) : resolve(value),
        );
      });
    });
  }
}

function away(): ClusterError {
  return new ClusterError('store_unavailable', 'the store does not answer');
}

function lost(): ClusterError {
  return new ClusterError('outcome_unknown', 'the connection was lost during COMMIT');
}
