import { ClusterError } from '../errors.js';
import type {
  Activated,
  ActivateRequest,
  Fence,
  FencedWrite,
  FenceStore,
  WriteOutcome,
} from '../fencing/fence.js';
import { addressText, epoch, revision, type ActivationId, type ProcessId } from '../ids/ids.js';

/** How a simulated store fails; evaluated when a transaction is submitted. */
export interface StoreFaults {
  /** Milliseconds until the transaction runs, and again until its answer arrives. */
  delayMs(): number;
  /** `away`: never runs. `unknown_made`, `unknown_not_made`: runs or not, and the connection is lost during COMMIT. */
  fault(): 'none' | 'away' | 'unknown_made' | 'unknown_not_made';
}

export interface StoreRow {
  epoch: number;
  activationId: ActivationId;
  revision: number;
  busyProcess: ProcessId | undefined;
  busyUntilMs: number;
}

/** How a kind's loads and writes act on its data; the store runs them under the fence. */
export interface MemoryTables<Load, Loaded, Write, Result> {
  load(load: Load): Loaded;
  /** Throws to reject the write, and must then change nothing. */
  apply(write: Write, fence: Fence): Result;
}

interface Waiter {
  after(delayMs: number, action: () => void): unknown;
  wallMs(): number;
}

/**
 * The in-memory counterpart of the durable store: one transaction at a time, each in one instant of the virtual
 * clock. `client` is the store as one process reaches it.
 */
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
  /** Planted bugs, with which a test shows that its checkers find them. */
  readonly #isFenced: boolean;
  readonly #comparesEpochAlone: boolean;

  constructor(
    tables: MemoryTables<Load, Loaded, Write, Result>,
    time: Waiter,
    faults: StoreFaults,
    options: { readonly isFenced?: boolean; readonly comparesEpochAlone?: boolean } = {},
  ) {
    this.#tables = tables;
    this.#time = time;
    this.#faults = faults;
    this.#isFenced = options.isFenced ?? true;
    this.#comparesEpochAlone = options.comparesEpochAlone ?? false;
  }

  client(faults: StoreFaults, time: Waiter): FenceStore<Load, Loaded, Write, Result> {
    return {
      activate: (request) => this.activate(request, { faults, time }),
      write: (batch) => this.write(batch, { faults, time }),
    };
  }

  /** The state that a lagging replica would hold; calling the result fails over to it and loses later writes. */
  copy(): () => void {
    const rows = [...this.rows].map(([key, row]) => [key, { ...row }] as const);
    return () => {
      this.rows.clear();
      for (const [key, row] of rows) this.rows.set(key, { ...row });
    };
  }

  activate(request: ActivateRequest<Load>, way = this.#way()): Promise<Activated<Loaded>> {
    return this.#transaction(way, () => {
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

  write(batch: readonly FencedWrite<Write>[], way = this.#way()): Promise<readonly WriteOutcome<Result>[]> {
    return this.#transaction(way, () => batch.map((one) => this.#write(one)));
  }

  #write({ fence, stamp, write }: FencedWrite<Write>): WriteOutcome<Result> {
    const row = this.rows.get(addressText(fence.address));
    if (row === undefined) return { outcome: 'fenced' };
    const isOther = row.activationId !== fence.activationId && !this.#comparesEpochAlone;
    if (this.#isFenced && (row.epoch !== fence.epoch || isOther)) {
      return { outcome: 'fenced' };
    }
    // Only this activation raises the revision: if it is one higher, this same write was committed before.
    if (row.revision === fence.revision + 1) return { outcome: 'written', result: undefined };
    // Any other difference: the store failed over to a replica that lacks this activation's last writes.
    if (this.#isFenced && !this.#comparesEpochAlone && row.revision !== fence.revision)
      return { outcome: 'fenced' };
    try {
      const result = write === undefined ? undefined : this.#tables.apply(write, fence);
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

  #way(): Way {
    return { faults: this.#faults, time: this.#time };
  }

  /** The answer runs on the process's own clock: a frozen or dead process does not receive it. */
  #transaction<Value>({ faults, time }: Way, make: () => Value): Promise<Value> {
    return new Promise((resolve, reject) => {
      const fault = faults.fault();
      this.#time.after(faults.delayMs(), () => {
        const back = (answer: () => void): void => {
          time.after(faults.delayMs(), answer);
        };
        if (fault === 'away') back(() => reject(away()));
        else if (fault === 'unknown_not_made') back(() => reject(lost()));
        else {
          const value = make();
          back(() => (fault === 'unknown_made' ? reject(lost()) : resolve(value)));
        }
      });
    });
  }
}

interface Way {
  readonly faults: StoreFaults;
  readonly time: Waiter;
}

function away(): ClusterError {
  return new ClusterError('store_unavailable', 'the store is unreachable');
}

function lost(): ClusterError {
  return new ClusterError('outcome_unknown', 'the connection was lost during COMMIT');
}
