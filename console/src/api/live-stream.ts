import type { ConnectionState, Frame } from '@troupe/client';
import { useEffect, useRef, useState } from 'react';
import { troupe } from './client';
import { keepOpen, notify } from './kept-open';
import type { Liveness } from './realtime';

interface Following {
  /** Each time the stream is open: what happened before is not told. */
  opened(): void;
  receive(frame: Frame): void;
}

type Tell = (liveness: Liveness) => void;

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
    const receiver: Following = {
      opened: () => latest.current.opened(),
      receive: (frame) => latest.current.receive(frame),
    };
    return followWhileSeen(path, receiver, setLiveness);
  }, [path]);
  return liveness;
}

/** The same outside of React, until the returned function is called. */
export function followWhileSeen(path: string, following: Following, tell: Tell): () => void {
  let running: AbortController | undefined;
  const stop = (): void => {
    running?.abort();
    running = undefined;
  };
  const start = (): void => {
    const stopping = new AbortController();
    running = stopping;
    void keepOpen(() => read(path, following, tell, stopping.signal), stopping.signal).finally(() => {
      if (running !== stopping) return;
      // Refused. The role may be another one when somebody looks again.
      running = undefined;
      tell('off');
    });
  };
  const look = (): void => {
    if (document.visibilityState !== 'visible') stop();
    else if (running === undefined) start();
  };
  look();
  document.addEventListener('visibilitychange', look);
  return () => {
    document.removeEventListener('visibilitychange', look);
    stop();
  };
}

async function read(path: string, following: Following, tell: Tell, signal: AbortSignal): Promise<void> {
  tell('connecting');
  const onConnection = (state: ConnectionState): void => {
    tell(state === 'open' ? 'live' : 'connecting');
    if (state === 'open') notify(() => following.opened());
  };
  try {
    for await (const frame of troupe.realtime.follow(path, { signal, onConnection }))
      notify(() => following.receive(frame));
  } finally {
    if (!signal.aborted) tell('connecting');
  }
}
