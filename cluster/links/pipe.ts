import type { Frame } from '../../generated/troupe/cluster/v1/link.js';
import type { Member } from '../membership/membership.js';

/** An ordered, two-way way for frames between two processes: a gRPC stream, or a simulated one. */
export interface Pipe {
  /**
   * What the two ends of this connection both know and the ends of another do not. The proofs of the greeting cover
   * it, so that they are worth nothing elsewhere. Known once a frame of the peer has come.
   */
  binding(): Uint8Array;
  /** The peer has proved itself: from here on its messages may be as large as batches are. */
  trust(): void;
  /** One batch, which is the pipe's from now on. False asks to wait for `onDrain`; the batch was taken nevertheless. */
  write(frames: Frame[]): boolean;
  /**
   * Nothing is sent or received any more. The peer's `onClose` follows, if the network lets it. The error is what the
   * peer did wrong, where that is the reason.
   */
  close(error?: Error): void;
  /** Each may be set once; frames that came earlier are kept for the listener. */
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
  /** Rejects with `peer_lost` (its `refused` tells that nobody listens there) or `deadline_exceeded`. */
  dial(peer: Member, signal: AbortSignal): Promise<Pipe>;
  listen(accept: (pipe: Pipe) => void): Promise<Listener>;
}

export type { Frame };
