import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

export interface PacedLoad {
  readonly port: number;
  readonly request: (index: number) => string;
  readonly perSecond: number;
  readonly seconds: number;
  readonly connections: number;
}

export interface PacedAnswer {
  readonly index: number;
  readonly status: number;
  readonly body: string;
  /** When it was due to be sent, by `performance.now()`. */
  readonly dueAtMs: number;
  readonly ms: number;
}

const paceMs = 2;

/**
 * Sends requests at a fixed rate, whether or not earlier ones were answered. If all connections are busy a request
 * waits, and the wait counts in its time.
 */
export async function sendPaced(load: PacedLoad): Promise<readonly PacedAnswer[]> {
  const answers: PacedAnswer[] = [];
  const waiting: { readonly index: number; readonly dueAtMs: number }[] = [];
  const idle: Connection[] = [];
  const all = await Promise.all(Array.from({ length: load.connections }, () => open(load.port)));
  const begin = (connection: Connection): void => {
    const next = waiting.shift();
    if (next === undefined) {
      idle.push(connection);
      return;
    }
    connection.ask(load.request(next.index), ({ status, body }) => {
      answers.push({ ...next, status, body, ms: performance.now() - next.dueAtMs });
      begin(connection);
    });
  };
  idle.push(...all);
  const startedAt = performance.now();
  const count = Math.round(load.perSecond * load.seconds);
  for (let sent = 0; sent < count;) {
    const due = Math.min(count, Math.ceil(((performance.now() - startedAt) / 1_000) * load.perSecond));
    for (; sent < due; sent += 1) {
      waiting.push({ index: sent, dueAtMs: startedAt + (sent / load.perSecond) * 1_000 });
      // Connections take turns, so that the server does not close an idle one.
      const connection = idle.shift();
      if (connection !== undefined) begin(connection);
    }
    await sleep(paceMs);
  }
  while (answers.length < count) await sleep(paceMs);
  for (const connection of all) connection.close();
  return answers;
}

interface Connection {
  ask(request: string, answered: (answer: { readonly status: number; readonly body: string }) => void): void;
  close(): void;
}

function open(port: number): Promise<Connection> {
  return new Promise((resolve, reject) => {
    let answered: ((answer: { readonly status: number; readonly body: string }) => void) | undefined;
    let pending = '';
    const socket: Socket = connect({ port, host: '127.0.0.1', noDelay: true }, () =>
      resolve({
        ask: (request, done) => {
          answered = done;
          pending = '';
          socket.write(request);
        },
        close: () => socket.destroy(),
      }),
    );
    socket.setEncoding('latin1');
    socket.on('data', (chunk: string) => {
      pending += chunk;
      const head = pending.indexOf('\r\n\r\n');
      const length = /content-length: *(\d+)/i.exec(pending.slice(0, head))?.[1];
      if (head === -1 || length === undefined || pending.length < head + 4 + Number(length)) return;
      answered?.({ status: Number(pending.slice(9, 12)), body: pending.slice(head + 4) });
    });
    socket.on('error', reject);
    socket.on('end', () => {
      throw new Error('the server closed the connection');
    });
  });
}
