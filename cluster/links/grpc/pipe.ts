import { status, type ClientDuplexStream, type ServerDuplexStream, type ServiceError } from '@grpc/grpc-js';
import type { CallsRequest, CallsResponse } from '../../../generated/troupe/cluster/v1/link.js';
import { ClusterError } from '../../errors.js';
import type { Frame, Pipe } from '../pipe.js';

type Stream =
  | ClientDuplexStream<CallsRequest, CallsResponse>
  | ServerDuplexStream<CallsRequest, CallsResponse>;

/** One bidi stream of gRPC as a pipe of frames. `end` closes what carries it, if it is this side's. */
export class GrpcPipe implements Pipe {
  readonly #stream: Stream;
  readonly #end: () => void;
  readonly #early: (readonly Frame[])[] = [];
  #onFrames: ((frames: readonly Frame[]) => void) | undefined;
  #onClose: ((error: Error | undefined) => void) | undefined;
  #onDrain: (() => void) | undefined;
  #closed: { readonly error: Error | undefined } | undefined;

  constructor(stream: Stream, end: () => void) {
    this.#stream = stream;
    this.#end = end;
    stream.on('data', (batch: CallsRequest | CallsResponse) => {
      if (this.#closed !== undefined) return;
      if (this.#onFrames === undefined) this.#early.push(batch.frames);
      else this.#onFrames(batch.frames);
    });
    stream.on('drain', () => this.#onDrain?.());
    stream.on('error', (error: Error) => this.#gone(lostBy(error)));
    stream.on('end', () => this.#gone(undefined));
    stream.on('close', () => this.#gone(undefined));
    stream.on('cancelled', () => this.#gone(undefined));
  }

  write(frames: Frame[]): boolean {
    if (this.#closed !== undefined) return true;
    return this.#stream.write({ frames });
  }

  close(): void {
    if (this.#closed !== undefined) return;
    this.#closed = { error: undefined };
    this.#end();
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

  #gone(error: Error | undefined): void {
    if (this.#closed !== undefined) return;
    this.#closed = { error };
    this.#end();
    this.#onClose?.(error);
  }
}

/** `refused` only where the address itself said so: a time-out or a broken network proves nothing. */
export function lostBy(error: Error): ClusterError {
  const refused =
    isServiceError(error) && error.code === status.UNAVAILABLE && /ECONNREFUSED/.test(error.details);
  return new ClusterError('peer_lost', error.message, { cause: error, refused });
}

function isServiceError(error: Error): error is ServiceError {
  return 'code' in error && 'details' in error && typeof error.details === 'string';
}
