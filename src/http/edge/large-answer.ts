import type { HttpResponse } from 'uWebSockets.js';
import type { ByteBudget, ByteHolder } from '../../kernel/byte-budget.js';

/**
 * A shorter answer fits into the kernel's buffer. Of a longer one the native side would keep what the socket does not take
 * at once, and a node that stops would close the connection with it.
 */
const largeAnswerBytes = 16 * 1024;
const bytesOfCharacterMax = 3;

export function isLarge(body: string | Uint8Array): boolean {
  if (typeof body !== 'string') return body.length >= largeAnswerBytes;
  return body.length * bytesOfCharacterMax >= largeAnswerBytes && Buffer.byteLength(body) >= largeAnswerBytes;
}

interface LargeAnswer {
  readonly body: Buffer;
  readonly budget: ByteBudget;
  /** Whose share of the budget it takes. */
  readonly client: string;
  /** The connection takes no further request; the native idle time closes it. */
  readonly isLast: boolean;
}

/**
 * Sends an answer as fast as its client takes it. What is left counts in the budget meanwhile; beyond the budget the
 * connection is closed, since the answer cannot be refused any more. The returned function ends the sending to a client
 * that has left.
 */
export function sendLarge(
  response: HttpResponse,
  { body, budget, client, isLast }: LargeAnswer,
  writeHead: () => void,
  finished: () => void,
): () => void {
  let isOver = false;
  response.cork(() => {
    writeHead();
    if (isLast) {
      response.writeHeader('Connection', 'close');
      response.pause();
    }
    [, isOver] = response.tryEnd(body, body.length);
  });
  if (isOver) {
    finished();
    return () => undefined;
  }
  const stop = (): void => {
    if (isOver) return;
    isOver = true;
    budget.free(client, held);
  };
  const held: ByteHolder = {
    evict: () => {
      stop();
      response.close();
    },
  };
  if (!budget.hold(client, held, body.length)) {
    isOver = true;
    response.close();
    return stop;
  }
  response.onWritable((offset) => {
    if (isOver) return true;
    // Again: the native side reads on after a write that did not fit.
    if (isLast) response.pause();
    const [isTaken, isDone] = response.tryEnd(body.subarray(offset), body.length);
    if (isDone) {
      stop();
      finished();
    }
    return isTaken;
  });
  return stop;
}
