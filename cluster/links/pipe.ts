import type { Frame } from '../../generated/troupe/cluster/v1/link.js';
import type { Member } from '../membership/membership.js';

/** An ordered, bidirectional stream of frames between two processes, over gRPC or simulated. */
export interface Pipe {
  /**
   * A value that only the two ends of this connection know. The proofs of the greeting cover it, so that they are
   * invalid on another connection. Available once a frame of the peer has arrived.
   */
  binding(): Uint8Array;
  /** The peer has proved itself: its messages may now be as large as a batch. */
  trust(): void;
  /** Sends one batch and takes ownership of it. False: wait for `onDrain`; this batch was still accepted. */
  write(frames: Frame[]): boolean;
  /**
   * Stops sending and receiving. The peer's `onClose` follows if the network permits. Pass the error if a violation of
   * the peer is the reason.
   */
  close(error?: Error): void;
  /** Each listener may be set once; earlier frames are kept for it. */
  onFrames(listener: (frames: readonly Frame[]) => void): void;
  onDrain(listener: () => void): void;
  onClose(listener: (error: Error | undefined) => void): void;
}

export interface Listener {
  /** host:port that peers dial. */
  readonly address: string;
  close(): Promise<void>;
}

export interface Transport {
  /** Rejects with `peer_lost` (`refused`: no listener at the address) or `deadline_exceeded`. */
  dial(peer: Member, signal: AbortSignal): Promise<Pipe>;
  listen(accept: (pipe: Pipe) => void): Promise<Listener>;
}

export type { Frame };
