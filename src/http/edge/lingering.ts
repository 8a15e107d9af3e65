import type { HttpResponse } from 'uWebSockets.js';
import type { Time } from '../../../cluster/index.js';
import type { IncomingBody } from './incoming-body.js';

/** A rest of this size has mostly arrived by the time of the refusal: it is read, and the connection is kept. */
const shortRestBytes = 64 * 1024;
/** After 413, clients mostly send the whole body before they read. A rest of known length is read up to this size. */
const oversizedRestBytes = 64 * 1024 * 1024;
/** A client that still sends beyond these limits will not read the answer. */
const lingerBytesMax = 16 * 1024 * 1024;
const lingerMs = 5_000;

/** The rest of a refused body: `short` is read and the connection kept; of `long`, some is read, then it closes. */
export function restOf({ bytesLeft }: IncomingBody, status: number): 'short' | 'long' {
  const most = status === 413 ? oversizedRestBytes : shortRestBytes;
  return bytesLeft !== undefined && bytesLeft <= most ? 'short' : 'long';
}

interface LingeringAnswer {
  readonly body: Buffer;
  readonly rest: IncomingBody;
  readonly isChunked: boolean;
  readonly time: Time;
}

/**
 * Sends an answer while the body of its request is still arriving, and closes the connection afterwards. Closing at once
 * would answer the client's next bytes with a reset, on which the client, or the load balancer in between, discards the
 * answer unread. So the rest is read and dropped until it ends, up to a limit in bytes and time. Past the limit nothing
 * more is read: the native idle time (a little over ten seconds) then closes the connection.
 *
 * The native side forgets a response when it is complete. Until then its connection can be paused or watched, so the last
 * byte of the answer is held back while the rest arrives. The returned function ends the wait for a client that has left.
 */
export function linger(
  response: HttpResponse,
  { body, rest, isChunked, time }: LingeringAnswer,
  writeHead: () => void,
  finished: () => void,
): () => void {
  let over = false;
  let dropped = 0;
  const stop = (): void => {
    over = true;
    timer.cancel();
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
  const timer = time.after(lingerMs, () => finish(false));
  let sent = true;
  response.cork(() => {
    writeHead();
    [sent] = response.tryEnd(body.subarray(0, -1), body.length);
  });
  if (!sent) {
    // The client has not read its earlier answers either.
    stop();
    response.close();
    return stop;
  }
  rest.follow({
    rest: (bytes) => {
      dropped += bytes;
      if (dropped > lingerBytesMax) finish(false);
    },
    // Deferred: bytes behind the body in the same piece would otherwise be read as a request that may be answered.
    end: () => time.soon(() => finish(!isChunked)),
  });
  return stop;
}
