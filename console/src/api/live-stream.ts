import { useEffect, useRef, useState } from 'react';
import { authorizedFetch } from './client';
import { readEvents, type SentEvent } from './event-stream';
import type { Liveness } from './realtime';

const waitsMs = [250, 500, 1_000, 2_000, 5_000, 10_000];

interface Following {
  /** Each time the stream is open: what happened before is not told. */
  opened(): void;
  receive(event: SentEvent): void;
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
  let failures = 0;
  while (!signal.aborted) {
    tell('connecting');
    try {
      const response = await authorizedFetch(new Request(location.origin + path, { signal }));
      // Another attempt does not help: the role, or what is followed, is not there.
      if (response.status === 403 || response.status === 404) return tell('off');
      if (!response.ok || response.body === null) throw new Error(`the stream answered ${response.status}`);
      failures = 0;
      tell('live');
      latest.current.opened();
      await readEvents(response.body, (event) => latest.current.receive(event));
    } catch {
      // The connection broke or was refused: it is opened again below.
    }
    if (signal.aborted) return;
    tell('connecting');
    await pause(waitsMs[Math.min(failures, waitsMs.length - 1)] ?? 10_000, signal);
    failures += 1;
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    const stop = (): void => {
      clearTimeout(timer);
      resolve();
    };
    signal.addEventListener('abort', stop, { once: true });
  });
}
