import type { ProcessId, ViewNumber } from '../ids/ids.js';
import type { Member, View } from './membership.js';

/** A lease as the member store sees it. */
export interface Lease {
  readonly member: Member;
  /** Since the last renewal, by the store's clock. */
  readonly silentMs: number;
}

export interface Snapshot {
  /** Random mark of this filling of the store; new after a flush or failover (protocol 2.2). */
  readonly generation: string;
  readonly leases: readonly Lease[];
  readonly view: View | undefined;
}

/** Where the living are kept (Redis, or memory in a simulation). Every answer may be lost or late. */
export interface MemberStore {
  /** Makes or renews the lease of `member`; refused when it was removed. */
  renew(member: Member, leaseMs: number): Promise<{ readonly renewed: boolean; readonly generation: string }>;
  snapshot(): Promise<Snapshot>;
  /** Publishes if the store holds no view of that number or a higher one, under the same generation. */
  publish(view: View, generation: string): Promise<boolean>;
  /** One voice against a process that refuses links; removes the lease in the same step once the rules hold. */
  refuse(
    process: ProcessId,
    voice: ProcessId,
    rules: { readonly voices: number; readonly silenceMs: number },
  ): Promise<{ readonly removed: boolean }>;
  release(process: ProcessId): Promise<void>;
  /** Called at a hint that something changed; hints may be lost. */
  onChange(listener: () => void): () => void;
  close(): Promise<void>;
}

/** View numbers come from the durable store, so that a flushed member store cannot repeat one. */
export interface ViewNumbers {
  /** A number never given before and above `atLeast`. */
  next(atLeast: ViewNumber): Promise<ViewNumber>;
}
