import type { Time } from '../../../cluster/index.js';
import { leavingWithAny } from '../../kernel/leave-signal.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import { encodeEvent, keepAliveComment, keepAliveMs } from '../invocation/index.js';
import type { SocketWriter, StreamWriter } from '../../http/operations/index.js';
import type { Envelope } from './events.js';
import { type Hub, topicOf } from './hub.js';

/**
 * Events that wait for one stream's reader. A reader that falls further behind is disconnected and reconnects with
 * its last id.
 */
const waitingMax = 1_000;

/**
 * The last id that a client has. An invalid id counts as a very old one: the client gets all stored events instead
 * of an error that its user does not see.
 */
export function afterOf(lastEventId: string | undefined): number | undefined {
  if (lastEventId === undefined || lastEventId === '') return undefined;
  return /^\d{1,15}$/.test(lastEventId) ? Number(lastEventId) : 0;
}

/** Serves until the client is gone. */
export async function serveSocket(
  hub: Hub,
  scope: TenantScope,
  after: number | undefined,
  socket: SocketWriter,
): Promise<void> {
  const leave = hub.enter(scope);
  try {
    await hub.join({
      scope,
      after,
      missed: async (events) => {
        for (const event of events) if (!socket.send(JSON.stringify(event))) await socket.drained();
      },
      joined: () => socket.join(topicOf(scope)),
      gone: socket.gone,
    });
    await abortOf(socket.gone);
  } finally {
    leave();
  }
}

/** Serves until the reader is gone, falls too far behind, or the node is leaving. */
export async function serveStream(
  hub: Hub,
  scope: TenantScope,
  after: number | undefined,
  writer: StreamWriter,
  time: Time,
): Promise<void> {
  const { leaving: over, release } = leavingWithAny(writer.gone, hub.stopping);
  const waiting: Envelope[] = [];
  let wake = (): void => undefined;
  over.addEventListener('abort', () => wake());
  const write = async (text: string): Promise<void> => {
    if (!writer.write(text)) await writer.drained();
  };
  const receive = (event: Envelope): void => {
    waiting.push(event);
    wake();
  };
  const leave = hub.enter(scope);
  let silence = (): void => undefined;
  let joinedAt: number | undefined;
  try {
    await hub.join({
      scope,
      after,
      missed: async (events) => {
        for (const event of events) await write(encodeEvent(event.id, event));
      },
      joined: (position) => {
        silence = hub.listen(scope, { receive });
        joinedAt = position;
      },
      gone: over,
    });
    if (after === undefined && joinedAt !== undefined) await write(positionText(joinedAt));
    while (!over.aborted && waiting.length <= waitingMax) {
      const event = waiting.shift();
      if (event !== undefined) await write(encodeEvent(event.id, event));
      else if (!(await woken(time, (resolve) => (wake = resolve)))) await write(keepAliveComment);
    }
  } finally {
    silence();
    leave();
    release();
  }
}

/**
 * Moves the client's last id without an event, so that one whose connection breaks before its first event misses
 * nothing.
 */
function positionText(position: number): string {
  return `: position\nid: ${position}\n\n`;
}

/** False if nothing happened for so long that a keep-alive is due. */
function woken(time: Time, onWake: (resolve: () => void) => void): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = time.after(keepAliveMs, () => resolve(false));
    onWake(() => {
      timer.cancel();
      resolve(true);
    });
  });
}

function abortOf(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
