import { useEffect, useRef } from 'react';
import { useLiveStream } from './live-stream';
import type { Liveness } from './realtime';

/** Many sessions change at once; a list is read again at most so often. */
const apartMs = 1_000;

/** Calls `changed` after sessions of the agent changed, and after changes may have been missed. */
export function useSessionChanges(agentId: string, changed: () => void): Liveness {
  const latest = useRef(changed);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => {
    latest.current = changed;
  });
  useEffect(() => () => clearTimeout(timer.current), []);
  const soon = (): void => {
    timer.current ??= setTimeout(() => {
      timer.current = undefined;
      latest.current();
    }, apartMs);
  };
  return useLiveStream('/api/v1/realtime/sessions', {
    opened: soon,
    receive: ({ data }) => {
      if (data === undefined) return;
      const { sessions } = JSON.parse(data) as {
        readonly sessions?: readonly { readonly agent_id: string }[];
      };
      // Without a list, the node has cut what it had to tell.
      if (sessions === undefined || sessions.some(({ agent_id: id }) => id === agentId)) soon();
    },
  });
}
