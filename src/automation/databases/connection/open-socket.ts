import type { Socket } from 'node:net';
import type { Egress } from '../../../infra/egress/index.js';
import { DatabaseError } from './database-error.js';

export interface Place {
  readonly host: string;
  readonly port: number;
  readonly ssl: boolean;
}

/** "May we speak TLS?": a length, and a number that is no version of the protocol. */
const tlsRequest = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);
const tlsGranted = 'S'.charCodeAt(0);

/** A guarded connection to the server, under TLS where that is wanted: never without where it is. */
export async function openSocket(
  egress: Pick<Egress, 'connectGuarded' | 'startTls'>,
  { host, port, ssl }: Place,
  options: { readonly timeoutMs: number; readonly signal: AbortSignal },
): Promise<Socket> {
  const socket = await egress.connectGuarded(host, port, options);
  // Heard from now on; where nobody else is told of it, the next read or write fails.
  socket.on('error', () => undefined);
  if (!ssl) return socket;
  try {
    await askForTls(socket, options.signal);
    return await egress.startTls(socket, host, options);
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

function askForTls(socket: Socket, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (error?: unknown): void => {
      socket.off('data', onData).off('close', onClose);
      signal.removeEventListener('abort', onAbort);
      // Nobody reads until TLS does, so nothing is lost in between.
      socket.pause();
      if (error === undefined) resolve();
      else reject(error instanceof Error ? error : new Error('aborted', { cause: error }));
    };
    const onData = (answer: Buffer): void => {
      // One letter and nothing more: what came along in the clear could otherwise pass for what TLS protects.
      if (answer.length === 1 && answer[0] === tlsGranted) return settle();
      settle(new DatabaseError('unreachable', 'the server does not offer TLS'));
    };
    const onClose = (): void =>
      settle(new DatabaseError('unreachable', 'the server closed the connection when it was asked for TLS'));
    const onAbort = (): void => settle(signal.reason);
    if (signal.aborted) return onAbort();
    socket.on('data', onData).on('close', onClose);
    signal.addEventListener('abort', onAbort, { once: true });
    socket.write(tlsRequest);
  });
}
