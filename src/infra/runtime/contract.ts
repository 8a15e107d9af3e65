import type {
  ActorKindOf,
  DueTimer,
  GroupCommit,
  Kind,
  NodeDescription,
  PostgresTables,
  ProcessId,
  RecoveryCounts,
  RecoverySource,
  Reference,
  ServiceShape,
  Slot,
  TimerSource,
  UnfinishedWork,
} from '../../../cluster/index.js';
import type { ReadinessCheck } from '../diagnostics/index.js';
import type { NodeReport } from './readiness-probes.js';

/** The actors of this node, and references to those of all nodes. */
export interface Actors {
  /** Before the start: registers a kind that this node hosts. */
  register(kind: Kind): void;
  /** Typed references; a call before the start or after the stop fails with a retryable error. */
  references<Service extends ServiceShape>(
    kind: ActorKindOf<Service>,
  ): (group: string, key: string) => Reference<Service>;
  slotOf(kind: Kind, group: string, key: string): Slot;
  /** A group commit through the fence in PostgreSQL, with the writer role. Closed with the node. */
  commits<Load, Loaded, Write, Result>(
    tables: PostgresTables<Load, Loaded, Write, Result>,
  ): GroupCommit<Load, Loaded, Write, Result>;
  /**
   * Before the start: registers a source of unfinished work for this node's slots. It starts with the node and ends before
   * it leaves. Failures of the source are logged, and counted in the metrics, under the name.
   */
  recover<Work extends UnfinishedWork>(name: string, source: RecoverySource<Work>): RecoveryHandle;
  /** Before the start: registers a source of timers for this node's slots; failures are reported in the same way. */
  timers(name: string, source: TimerSource): TimersHandle;
  /** The id of this process, valid from the beginning. */
  readonly process: ProcessId;
  /** False before the start. */
  surelyGone(process: ProcessId): boolean;
  /** Processes with slots, by the newest view; empty before the start. */
  members(): readonly ProcessId[];
  /** Whether this process may start an outside effect right now: its lease, by both clocks. False before the start. */
  mayAct(): boolean;
  /** Before the start: what ends outside effects before this node gives its lease back to a cluster. Must settle by itself. */
  beforeLeave(end: () => Promise<void>): void;
  /** Whether this node owns the slot in its newest view. */
  owns(slot: Slot): boolean;
  /** Whether new work may start here. */
  ready(): boolean;
  /** Undefined before the start. */
  describe(): NodeDescription | undefined;
  /** Reports of this node, of every node with slots, and of nodes that leave. */
  reports(): Promise<readonly NodeReport[]>;
  /**
   * Asks a node with slots to leave in order and end. Resolves when it has begun. Throws `not_found` for a process that is
   * no member, `conflict` if it is the only one or its program cannot end itself, `service_unavailable` if it does not
   * answer.
   */
  drain(process: string): Promise<void>;
  readonly readiness: ReadinessCheck;
  /** The metrics of this node's runtime, in the Prometheus format. */
  measures(): string;
  /** Joins the cluster; rejects if a dependency cannot be reached. */
  start(signal?: AbortSignal): Promise<void>;
  /** Lets other nodes, if any, take over idle actors; this node's requests are still answered. */
  beginLeave(): Promise<void>;
  /** Running turns finish until the signal aborts; then the node leaves and closes its connections. */
  stop(signal?: AbortSignal): Promise<void>;
}

export interface RecoveryHandle {
  /** Work was just written: starts the next poll at once. */
  hint(): void;
  readonly counts: RecoveryCounts;
}

export interface TimersHandle {
  /** A row was just written: the timer need not wait for the next read. */
  armed(timer: DueTimer): void;
  /** The row was deleted or moved. */
  disarmed(id: string): void;
  readonly waiting: number;
  readonly fired: number;
  readonly failures: number;
}
