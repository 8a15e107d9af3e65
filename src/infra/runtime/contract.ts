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

/** The actors of this node, and the way to all others. */
export interface Actors {
  /** Before the start: a kind that lives on this node. */
  register(kind: Kind): void;
  /** Typed references; a call before the start or after the stop fails with an error that a retry can mend. */
  references<Service extends ServiceShape>(
    kind: ActorKindOf<Service>,
  ): (group: string, key: string) => Reference<Service>;
  slotOf(kind: Kind, group: string, key: string): Slot;
  /** A group commit over the fence in PostgreSQL, as the writing role. Closed with the node. */
  commits<Load, Loaded, Write, Result>(
    tables: PostgresTables<Load, Loaded, Write, Result>,
  ): GroupCommit<Load, Loaded, Write, Result>;
  /**
   * Before the start: unfinished work of this node's slots. Begins with the node, ends before it leaves. Why the source
   * could not answer goes to the log and how often to the metrics, both under the name.
   */
  recover<Work extends UnfinishedWork>(name: string, source: RecoverySource<Work>): RecoveryHandle;
  /** Before the start: timers of this node's slots, with the same words on failures. */
  timers(name: string, source: TimerSource): TimersHandle;
  /** This start of this process; known from the beginning. */
  readonly process: ProcessId;
  /** False before the start. */
  surelyGone(process: ProcessId): boolean;
  /** Whether this node holds the slot by its newest view. */
  owns(slot: Slot): boolean;
  /** Whether new work may begin here. */
  ready(): boolean;
  /** Undefined before the start. */
  describe(): NodeDescription | undefined;
  /** Of every node that holds slots, and of this one. */
  reports(): Promise<readonly NodeReport[]>;
  readonly readiness: ReadinessCheck;
  /** Of this node's runtime, in Prometheus' form. */
  measures(): string;
  /** Joins the cluster; rejects when what it needs cannot be reached. */
  start(signal?: AbortSignal): Promise<void>;
  /** Lets others take over what is idle here, where there are others; requests of this node go on being answered. */
  beginLeave(): Promise<void>;
  /** Running turns finish until the signal aborts, then the node leaves and its connections are closed. */
  stop(signal?: AbortSignal): Promise<void>;
}

export interface RecoveryHandle {
  /** Work was just written: no need to wait for the next look. */
  hint(): void;
  readonly counts: RecoveryCounts;
}

export interface TimersHandle {
  /** A row was just written: spares it the wait for the next reading. */
  armed(timer: DueTimer): void;
  /** The row is gone or was moved. */
  disarmed(id: string): void;
  readonly waiting: number;
  readonly fired: number;
  readonly failures: number;
}
