import { connect, constants, type ClientHttp2Session, type ClientHttp2Stream } from 'node:http2';
import { EventEmitter } from 'node:events';
import type { ExecutionContext } from 'ava';
import { CallsRequest, type Frame } from '../../../generated/troupe/cluster/v1/link.js';

/** A peer that speaks HTTP/2 and the framing of gRPC to a node, and sends arbitrary data. */
export class RawPeer {
  readonly #session: ClientHttp2Session;
  isOpen = true;

  constructor(t: ExecutionContext, address: string) {
    this.#session = connect(`http://${address}`);
    // Most tests expect that the node ends the connection.
    this.#session.on('error', () => undefined);
    this.#session.on('close', () => (this.isOpen = false));
    t.teardown(() => this.#session.destroy());
  }

  stream(method: 'Calls' | 'Probes' | 'Probe' = 'Calls'): RawStream {
    return new RawStream(
      this.#session.request({
        [constants.HTTP2_HEADER_METHOD]: 'POST',
        [constants.HTTP2_HEADER_PATH]: `/troupe.cluster.v1.PeerService/${method}`,
        [constants.HTTP2_HEADER_CONTENT_TYPE]: 'application/grpc',
        te: 'trailers',
      }),
    );
  }

  /** Until the node has answered what was sent before: it reads the frames of a connection in their order. */
  answered(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#session.ping((error) => (error === null ? resolve() : reject(error)));
    });
  }

  close(): void {
    this.#session.destroy();
  }
}

/** Emits `data` for each message that comes, as a stream of gRPC does. */
export class RawStream extends EventEmitter {
  readonly #stream: ClientHttp2Stream;
  #unread = Buffer.alloc(0);
  receivedBytes = 0;
  isOpen = true;

  constructor(stream: ClientHttp2Stream) {
    super();
    this.#stream = stream;
    stream.on('error', () => undefined);
    stream.on('data', (bytes: Buffer) => this.#received(bytes));
    stream.on('close', () => {
      this.isOpen = false;
      this.emit('close');
    });
  }

  /** One message as gRPC frames it: a byte for compression, four for the length. */
  message(bytes: Uint8Array): void {
    const head = Buffer.alloc(5);
    head.writeUInt32BE(bytes.length, 1);
    this.raw(Buffer.concat([head, bytes]));
  }

  raw(bytes: Uint8Array): void {
    if (!this.#stream.destroyed && !this.#stream.writableEnded) this.#stream.write(bytes);
  }

  end(): void {
    this.#stream.end();
  }

  #received(bytes: Buffer): void {
    this.receivedBytes += bytes.length;
    this.#unread = Buffer.concat([this.#unread, bytes]);
    while (this.#unread.length >= 5) {
      const length = this.#unread.readUInt32BE(1);
      if (this.#unread.length < 5 + length) return;
      this.emit('data', this.#unread.subarray(5, 5 + length));
      this.#unread = this.#unread.subarray(5 + length);
    }
  }
}

export function batchOf(...frames: Frame[]): Uint8Array {
  return CallsRequest.encode({ frames }).finish();
}

/** Two bytes each: the field and a length of 0. */
export function emptyFrames(count: number): Uint8Array {
  return Buffer.alloc(count * 2, Buffer.from([0x0a, 0x00]));
}
