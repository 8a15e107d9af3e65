import { useEffect, useRef } from 'react';
import { accessToken, session, signingOut } from '../session/session';
import { useValue, Value } from '../session/value';
import { readEvents } from './event-stream';

/** One event of the tenant, as `GET /api/v1/realtime/events` sends it. */
export interface RealtimeEvent {
  readonly id: string;
  readonly type: string;
  readonly tenant_id: string;
  readonly at: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export type Liveness = 'off' | 'connecting' | 'live';

/**
 * One connection for the whole page, open while a screen listens. It continues after the last event that it had, from any
 * node; `resumed` is told when events may be missing, because the connection was away for longer than the node keeps them.
 */
type Listener = { readonly receive: (event: RealtimeEvent) => void; readonly resumed: () => void };

const listeners = new Set<Listener>();
export const liveness = new Value<Liveness>('off');
/** The node keeps events for ten minutes. */
const keptMs = 9 * 60_000;
const waitsMs = [250, 500, 1_000, 2_000, 5_000, 10_000];

let running: AbortController | undefined;
/** Nobody saw the page: events were missed since the connection was open last. */
let away = false;

function start(): void {
  if (document.visibilityState === 'hidden') return;
  const stopping = new AbortController();
  running = stopping;
  void follow(stopping.signal).finally(() => {
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
  const tenantId = session.get()?.tenantId;
  if (tenantId === undefined) return;
  let last: string | undefined;
  let lastSeenMs = Date.now();
  let failures = 0;
  while (!signal.aborted) {
    liveness.set('connecting');
    try {
      const token = await accessToken();
      if (token === undefined || signal.aborted) return;
      const response = await fetch('/api/v1/realtime/events', {
        headers: {
          authorization: `Bearer ${token}`,
          'x-tenant-id': tenantId,
          ...(last === undefined ? {} : { 'last-event-id': last }),
        },
        signal,
      });
      if (response.status === 401) await accessToken({ renew: true });
      if (response.status === 403) return;
      if (!response.ok || response.body === null) throw new Error(`the stream answered ${response.status}`);
      if (away || (failures > 0 && (last === undefined || Date.now() - lastSeenMs > keptMs))) {
        away = false;
        for (const { resumed } of listeners) resumed();
      }
      failures = 0;
      liveness.set('live');
      await readEvents(response.body, ({ id, data }) => {
        lastSeenMs = Date.now();
        if (id !== undefined) last = id;
        if (data === undefined) return;
        const event = JSON.parse(data) as RealtimeEvent;
        for (const { receive } of listeners) receive(event);
      });
    } catch {
      // The connection broke or was refused: it is opened again below.
    }
    if (signal.aborted) return;
    failures += 1;
    liveness.set('connecting');
    await pause(waitsMs[Math.min(failures, waitsMs.length) - 1] ?? 10_000, signal);
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener(
      'abort',
      () => {
        clearTimeout(timer);
        resolve();
      },
      { once: true },
    );
  });
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
  } else if (running !== undefined) {
    away = true;
    stop();
  }
});

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
  useEffect(() => {
    const listener: Listener = {
      receive: (event) => latest.current.receive(event),
      resumed: () => latest.current.resumed(),
    };
    listeners.add(listener);
    if (running === undefined) start();
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0) stop();
    };
  }, []);
  return useValue(liveness);
}
