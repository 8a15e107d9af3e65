/**
 * The live monitor of a session: its events for one reader, until the time limit, the end of the session, the reader's
 * disconnection, or the stop of the node.
 */
import type { Time } from '../../../cluster/index.js';
import type { LeaveSignal } from '../../kernel/leave-signal.js';
import {
  type ErrorEvent,
  keepAliveComment,
  keepAliveMs,
  nodeStopping,
  transportExpiry,
} from '../invocation/index.js';
import type { StreamWriter } from '../../http/operations/index.js';
import type { WatchedEvents } from './requests.js';

const monitorMs = 5 * 60_000;
const lookMs = 10_000;

export interface MonitorSource {
  /** Events of the session from now on. */
  readonly events: AsyncIterable<WatchedEvents> & { cancel(): void };
  /** Whether the session has ended meanwhile, which its actor need not notice. */
  hasEnded(): Promise<boolean>;
}

export async function monitor(
  { events, hasEnded }: MonitorSource,
  writer: StreamWriter,
  time: Time,
  stopping: LeaveSignal,
): Promise<void> {
  const leave = (): void => events.cancel();
  let lastId = 0;
  const endWith = (event: ErrorEvent): void => {
    writer.write(`id: ${lastId}\nevent: error\ndata: ${JSON.stringify(event)}\n\n`);
    leave();
  };
  const onStop = (): void => endWith(nodeStopping);
  const timers = [
    repeating(time, keepAliveMs, () => void writer.write(keepAliveComment)),
    repeating(time, lookMs, () => {
      // If the store is unavailable, the next check follows.
      hasEnded().then(
        (ended) => (ended ? leave() : undefined),
        () => undefined,
      );
    }),
    time.after(monitorMs, () =>
      endWith(transportExpiry('STREAM_TIMEOUT', 'A live stream ends after five minutes.')),
    ),
  ];
  writer.gone.addEventListener('abort', leave, { once: true });
  // Of a reader that left before, no event comes.
  if (writer.gone.aborted) leave();
  stopping.addEventListener('abort', onStop);
  if (stopping.aborted) onStop();
  try {
    for await (const { executionId, events: batch } of events) {
      const text = batch
        .map(({ id, event }) => {
          const data = JSON.stringify({ ...event, execution_id: executionId });
          return `id: ${id}\nevent: ${event.type}\ndata: ${data}\n\n`;
        })
        .join('');
      lastId = batch.at(-1)?.id ?? lastId;
      if (!writer.write(text)) await writer.drained();
    }
  } finally {
    for (const timer of timers) timer.cancel();
    stopping.removeEventListener('abort', onStop);
  }
}

function repeating(time: Time, everyMs: number, action: () => void): { cancel(): void } {
  let timer = time.after(everyMs, again);
  function again(): void {
    timer = time.after(everyMs, again);
    action();
  }
  return { cancel: () => timer.cancel() };
}
