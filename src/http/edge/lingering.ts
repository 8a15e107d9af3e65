import type { HttpResponse } from 'uWebSockets.js';
import type { IncomingBody } from './incoming-body.js';

/** A rest of this size is mostly here by the time of the refusal: it is let in, and the connection goes on. */
const shortRestBytes = 64 * 1024;
/** After 413 a client mostly sends all it has before it listens. A rest of known length is let in up to this size. */
const oversizedRestBytes = 64 * 1024 * 1024;
/** Beyond these bounds a client that still sends is not going to listen. */
const lingerBytesMax = 16 * 1024 * 1024;
const lingerMs = 5_000;

/** What to do about the rest of a refused body: let it in and go on, or let some of it in and close. */
export function restOf({ bytesLeft }: IncomingBody, status: number): 'short' | 'long' {
  const most = status === 413 ? oversizedRestBytes : shortRestBytes;
  return bytesLeft !== undefined && bytesLeft <= most ? 'short' : 'long';
}

/**
 * Sends an answer while the body of its request is still coming, and ends the connection afterwards. To close at once
 * would answer the client's next bytes with a reset, and a reset makes it, or the balancer in between, throw away the
 * answer unread. So the rest is read and dropped until it ends, up to a bound in bytes and time. Past the bound nothing
 * more is read: the native idle time (ten seconds and a few) then closes the connection.
 *
 * The native side forgets a response when it is whole. Until then its connection can be paused or watched, so the last
 * byte of the answer is held back while the rest comes. The returned function ends the wait for a client that left.
 */
export function linger(
  response: HttpResponse,
  {
    body,
    rest,
    isChunked,
  }: { readonly body: Buffer; readonly rest: IncomingBody; readonly isChunked: boolean },
  writeHead: () => void,
  finished: () => void,
): () => void {
  let over = false;
  let dropped = 0;
  const stop = (): void => {
    over = true;
    clearTimeout(timer);
  };
  const finish = (readsOn: boolean): void => {
    if (over) return;
    stop();
    response.cork(() => {
      if (!readsOn) response.pause();
      response.tryEnd(body.subarray(-1), body.length);
    });
    finished();
  };
  const timer = setTimeout(() => finish(false), lingerMs);
  let sent = true;
  response.cork(() => {
    writeHead();
    [sent] = response.tryEnd(body.subarray(0, -1), body.length);
  });
  if (!sent) {
    // It has not read its earlier answers either.
    stop();
    response.close();
    return stop;
  }
  rest.follow({
    rest: (bytes) => {
      dropped += bytes;
      if (dropped > lingerBytesMax) finish(false);
    },
    // Later, because what came behind the body in the same piece would be taken for a request that may be answered.
    end: () => void setImmediate(finish, !isChunked),
  });
  return stop;
}
