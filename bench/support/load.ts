import { connect, type Socket } from 'node:net';

export interface LoadResult {
  readonly requests: number;
  readonly seconds: number;
  /** Answers with an unexpected status. */
  readonly unexpected: number;
  readonly latenciesMs: Float64Array;
}

export interface LoadOptions {
  readonly port: number;
  /** Several requests are sent in turn. */
  readonly request: string | readonly string[];
  readonly connections: number;
  readonly seconds: number;
  readonly expectedStatus: number;
}

const headEnd = Buffer.from('\r\n\r\n');

/**
 * Keep-alive load over raw sockets, one request in flight per connection. It parses only enough of an answer to find
 * its end, so that it uses less CPU than the servers it measures.
 */
export async function load(options: LoadOptions): Promise<LoadResult> {
  const requests = [options.request].flat().map((request) => Buffer.from(request));
  let turn = 0;
  const next = (): Buffer => requests[turn++ % requests.length] ?? Buffer.alloc(0);
  const endsAt = performance.now() + options.seconds * 1000;
  const startedAt = performance.now();
  const latencies: number[] = [];
  let answers = 0;
  let unexpected = 0;
  const connections = Array.from({ length: options.connections }, () =>
    oneConnection(options.port, (socket) => {
      let sentAt = performance.now();
      let pending: Buffer = Buffer.alloc(0);
      socket.write(next());
      return (chunk) => {
        pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
        const end = endOfAnswer(pending);
        if (end === -1) return true;
        answers += 1;
        if (Number(pending.toString('latin1', 9, 12)) !== options.expectedStatus) unexpected += 1;
        pending = pending.subarray(end);
        const now = performance.now();
        latencies.push(now - sentAt);
        if (now >= endsAt) return false;
        sentAt = now;
        socket.write(next());
        return true;
      };
    }),
  );
  await Promise.all(connections);
  const seconds = (performance.now() - startedAt) / 1000;
  return { requests: answers, seconds, unexpected, latenciesMs: Float64Array.from(latencies).sort() };
}

function oneConnection(port: number, begin: (socket: Socket) => (chunk: Buffer) => boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true }, () => {
      const take = begin(socket);
      socket.on('data', (chunk: Buffer) => {
        if (take(chunk)) return;
        socket.destroy();
        resolve();
      });
    });
    socket.on('error', reject);
    socket.on('end', () => reject(new Error('the server closed the connection')));
  });
}

const chunkedEnd = Buffer.from('\r\n0\r\n\r\n');

/** The end of the first answer in the buffer; -1 if it is incomplete. */
function endOfAnswer(buffer: Buffer): number {
  const head = buffer.indexOf(headEnd);
  if (head === -1) return -1;
  const heading = buffer.toString('latin1', 0, head);
  const length = /content-length: *(\d+)/i.exec(heading)?.[1];
  if (length !== undefined) {
    const end = head + headEnd.length + Number(length);
    return buffer.length >= end ? end : -1;
  }
  if (!/transfer-encoding: *chunked/i.test(heading)) throw new Error(`an answer has no length: ${heading}`);
  // Only one request is in flight, so a chunked answer can only end at the end of the buffer.
  return buffer.subarray(-chunkedEnd.length).equals(chunkedEnd) ? buffer.length : -1;
}

export function percentile(sorted: Float64Array, share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
