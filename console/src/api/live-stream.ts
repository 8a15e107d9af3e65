import type { ConnectionState, Frame } from '@troupe/client';
import { useEffect, useRef, useState } from 'react';
import { troupe } from './client';
import type { Liveness } from './realtime';

interface Following {
  /** Each time the stream is open: what happened before is not told. */
  opened(): void;
  receive(frame: Frame): void;
}

/**
 * Follows a stream of server-sent events that has no past, and opens it again, from any node, when it ends. A page that
 * nobody sees follows nothing: browsers open six connections to an origin, over all its pages.
 */
export function useLiveStream(path: string | undefined, following: Following): Liveness {
  const [liveness, setLiveness] = useState<Liveness>('off');
  const latest = useRef(following);
  useEffect(() => {
    latest.current = following;
  });
  useEffect(() => {
    if (path === undefined) return undefined;
    let stopping: AbortController | undefined;
    const follow = (): void => {
      const seen = document.visibilityState === 'visible';
      if (!seen) stopping?.abort();
      if (!seen || (stopping !== undefined && !stopping.signal.aborted)) return;
      stopping = new AbortController();
      void keepOpen(path, latest, setLiveness, stopping.signal);
    };
    follow();
    document.addEventListener('visibilitychange', follow);
    return () => {
      document.removeEventListener('visibilitychange', follow);
      stopping?.abort();
    };
  }, [path]);
  return liveness;
}

async function keepOpen(
  path: string,
  latest: { readonly current: Following },
  tell: (liveness: Liveness) => void,
  signal: AbortSignal,
): Promise<void> {
  tell('connecting');
  const onConnection = (state: ConnectionState): void => {
    tell(state === 'open' ? 'live' : 'connecting');
    if (state === 'open') latest.current.opened();
  };
  try {
    for await (const frame of troupe.realtime.follow(path, { signal, onConnection }))
      latest.current.receive(frame);
  } catch {
    // Nobody looks any more, or another attempt does not help: the role, or what is followed, is not there.
    if (!signal.aborted) tell('off');
  }
}
