/** The stream of changed sessions for one reader. */
import type { Time } from '../../../cluster/index.js';
import { encodeEvent, keepAliveComment, keepAliveMs } from '../invocation/index.js';
import type { StreamWriter } from '../../http/operations/index.js';
import { leavingWithAny } from '../../kernel/leave-signal.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import { previewedAnswer } from './responses.js';
import type { ChangedSession, SessionChanges } from './session-changes.js';

/** A reader that is further behind lists the sessions again. */
const waitingMax = 5_000;
const sessionsOfEvent = 200;

/** Serves until the reader is gone or the node is leaving. */
export async function serveSessionChanges(
  changes: SessionChanges,
  scope: TenantScope,
  writer: StreamWriter,
  time: Time,
): Promise<void> {
  const { leaving: over, release } = leavingWithAny(writer.gone, changes.stopping);
  // The latest state of each session: a slow reader gets fewer events, not older ones.
  const waiting = new Map<string, ChangedSession>();
  let cut = false;
  let wake = (): void => undefined;
  over.addEventListener('abort', () => wake());
  const leave = changes.follow(scope, (change) => {
    for (const changed of change.sessions) waiting.set(changed.session.id, changed);
    cut ||= change.cut || waiting.size > waitingMax;
    if (cut) waiting.clear();
    wake();
  });
  let number = 0;
  try {
    while (!over.aborted) {
      const text = next();
      if (text === undefined) await woken(time, (resolve) => (wake = resolve));
      else if (!writer.write(text)) await writer.drained();
    }
  } finally {
    leave();
    release();
  }

  function next(): string | undefined {
    if (cut) {
      cut = false;
      return encodeEvent((number += 1), { type: 'sessions_cut' });
    }
    const some = [...waiting.values()].slice(0, sessionsOfEvent);
    if (some.length === 0) return undefined;
    for (const { session } of some) waiting.delete(session.id);
    const sessions = some.map(({ session, lastMessage }) => previewedAnswer(session, lastMessage));
    const event = { type: 'sessions_changed', sessions };
    return encodeEvent((number += 1), event);
  }

  function woken(clock: Time, onWake: (resolve: () => void) => void): Promise<void> {
    return new Promise((resolve) => {
      const timer = clock.after(keepAliveMs, () => {
        writer.write(keepAliveComment);
        resolve();
      });
      onWake(() => {
        timer.cancel();
        resolve();
      });
    });
  }
}
