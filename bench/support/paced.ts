import { once } from 'node:events';
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
  /** How long it waited for this process or for a free connection. Part of `ms`. */
  readonly lateMs: number;
  readonly ms: number;
  /** Until the first event of a stream; the same as `ms` for other answers. */
  readonly firstMs: number;
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
    const lateMs = performance.now() - next.dueAtMs;
    connection.ask(load.request(next.index), ({ status, body, firstAtMs }) => {
      const ms = performance.now() - next.dueAtMs;
      const firstMs = (firstAtMs ?? performance.now()) - next.dueAtMs;
      answers.push({ ...next, status, body, lateMs, ms, firstMs });
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

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly firstAtMs: number | undefined;
}

interface Connection {
  ask(request: string, answered: (answer: Answer) => void): void;
  close(): void;
}

/** The server closes connections that were idle for ten seconds; the next request then opens another. */
async function open(port: number): Promise<Connection> {
  let answered: ((answer: Answer) => void) | undefined;
  let pending = '';
  let firstAtMs: number | undefined;
  let socket: Socket | undefined = await dial();
  async function dial(): Promise<Socket> {
    const dialed: Socket = connect({ port, host: '127.0.0.1', noDelay: true });
    await once(dialed, 'connect');
    dialed.setEncoding('latin1');
    dialed.on('data', take);
    const closed = (error?: Error): void => {
      // A reset may follow the end of a connection that is already replaced.
      if (socket !== dialed) return;
      if (answered !== undefined) {
        throw new Error('the server closed the connection before it answered', { cause: error });
      }
      socket = undefined;
      dialed.destroy();
    };
    dialed.on('end', closed);
    dialed.on('error', closed);
    return dialed;
  }
  function take(chunk: string): void {
    pending += chunk;
    const head = pending.indexOf('\r\n\r\n');
    if (head === -1) return;
    const length = /content-length: *(\d+)/i.exec(pending.slice(0, head))?.[1];
    if (length === undefined && pending.includes('event: ')) firstAtMs ??= performance.now();
    const isWhole =
      length === undefined ? pending.endsWith('\r\n0\r\n\r\n') : pending.length >= head + 4 + Number(length);
    if (!isWhole) return;
    const done = answered;
    answered = undefined;
    done?.({ status: Number(pending.slice(9, 12)), body: pending.slice(head + 4), firstAtMs });
  }
  return {
    ask: (request, done) => {
      answered = done;
      pending = '';
      firstAtMs = undefined;
      if (socket !== undefined) socket.write(request);
      else
        void dial().then((dialed) => {
          socket = dialed;
          dialed.write(request);
        });
    },
    close: () => socket?.destroy(),
  };
}
