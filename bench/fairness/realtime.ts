// A reader of a tenant's realtime events, which notes when the first event of each execution arrived.
import { once } from 'node:events';
import { connect } from 'node:net';

export interface RealtimeReader {
  /** By execution id, by `performance.now()`. */
  readonly arrivedAtMs: ReadonlyMap<string, number>;
  close(): void;
}

export async function readRealtime(port: number, key: string): Promise<RealtimeReader> {
  const arrivedAtMs = new Map<string, number>();
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  await once(socket, 'connect');
  socket.setEncoding('latin1');
  socket.write(`GET /api/v1/realtime/events HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Api-Key: ${key}\r\n\r\n`);
  let pending = '';
  socket.on('data', (chunk: string) => {
    pending += chunk;
    for (const [, id] of pending.matchAll(/"execution_id":"([0-9a-f-]{36})"/g)) {
      if (id !== undefined && !arrivedAtMs.has(id)) arrivedAtMs.set(id, performance.now());
    }
    // An id may be split between two chunks.
    pending = pending.slice(-200);
  });
  const [head]: unknown[] = await once(socket, 'data');
  if (!String(head).startsWith('HTTP/1.1 200')) throw new Error(`the events were refused: ${String(head)}`);
  return { arrivedAtMs, close: () => socket.destroy() };
}
