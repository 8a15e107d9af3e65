import type { ConnectionState, RealtimeEvent } from '@troupe/client';
import { useEffect, useRef } from 'react';
import { session, signingOut } from '../session/session';
import { useValue, Value } from '../session/value';
import { troupe } from './client';
import { keepOpen, notify } from './kept-open';

export type { RealtimeEvent } from '@troupe/client';

export type Liveness = 'off' | 'connecting' | 'live';

/**
 * One connection for the whole page, open while a screen listens. It continues after the last event that it had, from any
 * node; `resumed` is told when events may be missing: those before it was open first, which the screen may have read too
 * early to see, and those of a time longer than the node keeps them.
 */
type Listener = { readonly receive: (event: RealtimeEvent) => void; readonly resumed: () => void };

const listeners = new Set<Listener>();
export const liveness = new Value<Liveness>('off');
/** The node keeps events for ten minutes. */
const keptMs = 9 * 60_000;

let running: AbortController | undefined;

function start(): void {
  if (document.visibilityState === 'hidden' || session.get()?.tenantId === undefined) return;
  const stopping = new AbortController();
  running = stopping;
  void keepOpen(() => follow(stopping.signal), stopping.signal).finally(() => {
    if (running === stopping) running = undefined;
    if (running === undefined) liveness.set('off');
  });
}

function stop(): void {
  running?.abort();
  running = undefined;
  liveness.set('off');
}

async function follow(signal: AbortSignal): Promise<void> {
  let hasBeenOpen = false;
  let lostAtMs: number | undefined;
  liveness.set('connecting');
  const onConnection = (state: ConnectionState): void => {
    if (state === 'lost') lostAtMs ??= Date.now();
    else {
      const isGap = !hasBeenOpen || (lostAtMs !== undefined && Date.now() - lostAtMs > keptMs);
      if (isGap) for (const { resumed } of listeners) notify(resumed);
      hasBeenOpen = true;
      lostAtMs = undefined;
    }
    liveness.set(state === 'open' ? 'live' : 'connecting');
  };
  try {
    for await (const event of troupe.realtime.events({ signal, onConnection }))
      for (const { receive } of listeners) notify(() => receive(event));
  } finally {
    if (!signal.aborted) liveness.set('connecting');
  }
}

signingOut.subscribe(() => {
  if (signingOut.get()) stop();
  else if (session.get() !== null && listeners.size > 0) start();
});

let tenantOfStream = session.get()?.tenantId;
session.subscribe(() => {
  const tenantId = session.get()?.tenantId;
  if (tenantId === tenantOfStream) return;
  tenantOfStream = tenantId;
  stop();
  if (tenantId !== undefined && listeners.size > 0) start();
});

// Browsers open six connections to an origin over all its pages, and keep those of pages that one can go back to.
document.addEventListener('visibilitychange', () => {
  if (document.visibilityState === 'visible') {
    if (running === undefined && listeners.size > 0) start();
  } else stop();
});

/** Calls the listener until the returned function is called. */
export function listen(listener: Listener): () => void {
  listeners.add(listener);
  if (running === undefined) start();
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) stop();
  };
}

/**
 * Calls `receive` for each event of the tenant while the component is on screen. `resumed`: events may have been missed,
 * read again.
 */
export function useRealtime(
  receive: (event: RealtimeEvent) => void,
  resumed: () => void = () => undefined,
): Liveness {
  const latest = useRef({ receive, resumed });
  useEffect(() => {
    latest.current = { receive, resumed };
  });
  useEffect(
    () =>
      listen({
        receive: (event) => latest.current.receive(event),
        resumed: () => latest.current.resumed(),
      }),
    [],
  );
  return useValue(liveness);
}
