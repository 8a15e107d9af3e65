import { status, type ServiceError } from '@grpc/grpc-js';
import type { MessageCodec } from '../../activation/method.js';
import type { ClusterConfig } from '../../config.js';
import { ClusterError, toClusterError } from '../../errors.js';
import { encode } from '../encoder.js';
import type { Frame, Pipe } from '../pipe.js';

/** A gRPC stream whose messages are bytes: whether they may be decoded depends on the sender. */
export interface ByteStream {
  on(event: string, listener: (value: unknown) => void): unknown;
  write(bytes: Buffer): boolean;
}

export interface BatchCodec extends MessageCodec {
  decode(bytes: Uint8Array): { readonly frames: Frame[] };
}

/** The stream of a pipe, and its owner's callbacks. */
export interface Carrier {
  readonly stream: ByteStream;
  readonly sent: BatchCodec;
  readonly received: BatchCodec;
  /** Longest message that the other end accepts. */
  readonly messageBytesMax: number;
  readonly config: Pick<ClusterConfig, 'greetingBytes' | 'batchFramesMax'>;
  binding(): Uint8Array;
  trust(): void;
  /** Ends the stream, and soon the connection of an unproven peer; messages already written are still sent. */
  end(): void;
  trouble(error: ClusterError): void;
}

/**
 * One bidirectional gRPC stream as a pipe of frames. All events of the stream are handled here only: an exception of a
 * listener closes the pipe and is reported as a trouble. It never reaches the process.
 */
export class GrpcPipe implements Pipe {
  readonly #carrier: Carrier;
  readonly #early: (readonly Frame[])[] = [];
  #isTrusted = false;
  #onFrames: ((frames: readonly Frame[]) => void) | undefined;
  #onClose: ((error: Error | undefined) => void) | undefined;
  #onDrain: (() => void) | undefined;
  #closed: { readonly error: Error | undefined } | undefined;

  constructor(carrier: Carrier) {
    this.#carrier = carrier;
    this.#listen('data', (bytes) => this.#received(bytes));
    this.#listen('drain', () => this.#onDrain?.());
    this.#listen('error', (error) => this.#gone(lostBy(toClusterError(error, 'peer_lost'))));
    this.#listen('end', () => this.#gone(undefined));
    this.#listen('close', () => this.#gone(undefined));
    this.#listen('cancelled', () => this.#gone(undefined));
  }

  binding(): Uint8Array {
    return this.#carrier.binding();
  }

  trust(): void {
    this.#isTrusted = true;
    this.#carrier.trust();
  }

  write(frames: Frame[]): boolean {
    if (this.#closed !== undefined) return true;
    try {
      return this.#send(frames);
    } catch (error) {
      this.#fail(error);
      return true;
    }
  }

  close(error?: Error): void {
    if (this.#closed !== undefined) return;
    this.#closed = { error };
    if (error !== undefined) this.#carrier.trouble(toClusterError(error, 'protocol_violation'));
    this.#carrier.end();
  }

  onFrames(listener: (frames: readonly Frame[]) => void): void {
    this.#onFrames = listener;
    for (const frames of this.#early.splice(0)) listener(frames);
  }

  onDrain(listener: () => void): void {
    this.#onDrain = listener;
  }

  onClose(listener: (error: Error | undefined) => void): void {
    this.#onClose = listener;
    if (this.#closed !== undefined) listener(this.#closed.error);
  }

  #listen(event: string, listener: (value: unknown) => void): void {
    this.#carrier.stream.on(event, (value: unknown) => {
      try {
        listener(value);
      } catch (error) {
        this.#fail(error);
      }
    });
  }

  #received(bytes: unknown): void {
    if (this.#closed !== undefined || !(bytes instanceof Uint8Array)) return;
    const { config } = this.#carrier;
    if (!this.#isTrusted && bytes.length > config.greetingBytes) {
      throw new ClusterError(
        'message_too_large',
        `a peer that has not proved itself sent ${bytes.length} bytes; at most ${config.greetingBytes} are allowed`,
      );
    }
    const { frames } = this.#decode(bytes);
    if (frames.length > config.batchFramesMax) {
      throw new ClusterError(
        'protocol_violation',
        `a batch of ${frames.length} frames exceeds batchFramesMax`,
      );
    }
    if (this.#onFrames === undefined) this.#early.push(frames);
    else this.#onFrames(frames);
  }

  #decode(bytes: Uint8Array): { readonly frames: readonly Frame[] } {
    try {
      return this.#carrier.received.decode(bytes);
    } catch (error) {
      throw new ClusterError('bad_message', 'the bytes do not decode to a batch of frames', { cause: error });
    }
  }

  #send(frames: Frame[]): boolean {
    const { stream, sent, messageBytesMax } = this.#carrier;
    const bytes = encode(sent, { frames });
    if (bytes.length <= messageBytesMax) {
      return stream.write(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
    }
    // Batching estimates the size of frames; here it is exact.
    if (frames.length <= 1) {
      throw new ClusterError(
        'message_too_large',
        `a frame of ${bytes.length} bytes exceeds ${messageBytesMax}`,
      );
    }
    const half = Math.ceil(frames.length / 2);
    const first = this.#send(frames.slice(0, half));
    return this.#send(frames.slice(half)) && first;
  }

  /** One end violated the protocol, or a listener has a bug. */
  #fail(thrown: unknown): void {
    const error = toClusterError(thrown, 'protocol_violation');
    this.#carrier.trouble(error);
    try {
      this.#gone(error);
    } catch (second) {
      this.#carrier.trouble(toClusterError(second, 'protocol_violation'));
    }
  }

  #gone(error: Error | undefined): void {
    if (this.#closed !== undefined) return;
    this.#closed = { error };
    this.#carrier.end();
    this.#onClose?.(error);
  }
}

/** Sets `refused` only if the address itself refused: a time-out or a broken network proves nothing. */
function lostBy(error: ClusterError): ClusterError {
  const { cause } = error;
  const refused =
    isServiceError(cause) && cause.code === status.UNAVAILABLE && /ECONNREFUSED/.test(cause.details);
  const message = cause instanceof Error ? cause.message : error.message;
  return new ClusterError('peer_lost', message, { cause, refused });
}

function isServiceError(error: unknown): error is ServiceError {
  return error instanceof Error && 'code' in error && 'details' in error && typeof error.details === 'string';
}
