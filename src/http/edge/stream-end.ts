import type { HttpResponse } from 'uWebSockets.js';

/** More than the native side holds back to join writes, so each full piece shows whether the socket has taken all. */
const pieceBytes = 16 * 1024;
const bytesOfCharacterMax = 3;

interface StreamEnd {
  /** The last text of the stream. */
  readonly text: string;
  /** The connection takes no further request; the native idle time closes it. */
  readonly isLast: boolean;
}

/**
 * Ends a stream once its client takes it: a node that stops waits for streams without their end, but closes connections
 * with what the native side holds for them. The returned function ends the wait for a client that has left.
 */
export function endStream(
  response: HttpResponse,
  { text, isLast }: StreamEnd,
  finished: () => void,
): () => void {
  const isShort = text.length * bytesOfCharacterMax <= pieceBytes;
  const bytes = isShort ? undefined : Buffer.from(text);
  const length = bytes?.length ?? text.length;
  let written = 0;
  let isOver = false;
  const proceed = (): void => {
    let isTaken = true;
    response.cork(() => {
      while (isTaken && written < length) {
        isTaken = response.write(bytes?.subarray(written, written + pieceBytes) ?? text);
        written += bytes === undefined ? length : pieceBytes;
      }
      if (!isTaken) return;
      // Asked to close the connection, the native side would write a header behind the last bytes of the stream. So what
      // follows is not read.
      if (isLast) response.pause();
      response.end();
      isOver = true;
    });
    if (isOver) finished();
  };
  proceed();
  if (!isOver) {
    response.onWritable(() => {
      if (!isOver) proceed();
      return true;
    });
  }
  return () => {
    isOver = true;
  };
}
