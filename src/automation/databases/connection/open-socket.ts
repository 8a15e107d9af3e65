import type { Socket } from 'node:net';
import type { Egress } from '../../../infra/egress/index.js';
import { DatabaseError } from './database-error.js';

export interface Place {
  readonly host: string;
  readonly port: number;
  readonly ssl: boolean;
}

/** The SSLRequest message: a length, and a number that is not a protocol version. */
const tlsRequest = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);
const tlsGranted = 'S'.charCodeAt(0);

/** A guarded connection to the server, with TLS if it is wanted, and never without it then. */
export async function openSocket(
  egress: Pick<Egress, 'connectGuarded' | 'startTls'>,
  { host, port, ssl }: Place,
  options: { readonly timeoutMs: number; readonly signal: AbortSignal },
): Promise<Socket> {
  const socket = await egress.connectGuarded(host, port, options);
  // Without a listener an error would end the process. The next read or write fails in any case.
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
      // Nothing reads until TLS does, so no data is lost in between.
      socket.pause();
      if (error === undefined) resolve();
      else reject(error instanceof Error ? error : new Error('aborted', { cause: error }));
    };
    const onData = (answer: Buffer): void => {
      // Exactly one byte: further plaintext bytes could otherwise pass as data protected by TLS.
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
