import { isTokenRefusal } from './credentials.js';
import type { ApiError } from './errors.js';
import { resumingFrames, type ResumeOptions } from './resuming-stream.js';
import type { Frame } from './sse-reader.js';
import type { Transport } from './transport.js';

/** One event of the tenant. `data` is described in the document, by type. */
export interface RealtimeEvent<Type extends string = string, Data = Readonly<Record<string, unknown>>> {
  readonly id: string;
  readonly type: Type;
  readonly tenant_id: string;
  readonly at: string;
  readonly data: Data;
}

export interface RealtimeOptions extends ResumeOptions {
  /** Only events of these types. */
  readonly types?: readonly string[] | undefined;
}

const passing: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504]);

async function isPassing(transport: Transport, error: ApiError): Promise<boolean> {
  return passing.has(error.status) || (isTokenRefusal(error) && (await transport.dropToken()));
}

/** The tenant's events until the signal aborts, over as many connections as it takes: each event once, in order. */
export async function* realtimeEvents(
  transport: Transport,
  options: RealtimeOptions,
): AsyncGenerator<RealtimeEvent, void, undefined> {
  const { types } = options;
  const wanted = types === undefined ? undefined : new Set(types);
  const frames = resumingFrames(
    {
      open: (lastEventId, signal) =>
        transport.attempt({
          method: 'GET',
          path: '/api/v1/realtime/events',
          headers: new Headers(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
          body: undefined,
          accepts: { key: true, user: true, operator: false },
          signal,
        }),
      kindOf: () => 'event',
      isPassing: (error) => isPassing(transport, error),
    },
    // A reader that only watches never gives up by itself.
    { reconnects: Number.POSITIVE_INFINITY, ...options },
    transport.surroundings,
  );
  for await (const { data } of frames) {
    const event = JSON.parse(data ?? 'null') as RealtimeEvent;
    if (wanted === undefined || wanted.has(event.type)) yield event;
  }
}

/** A stream that tells nothing of the past, such as the changes of the list of sessions: each connection begins anew. */
export async function* liveFrames(
  transport: Transport,
  path: string,
  options: ResumeOptions,
): AsyncGenerator<Frame, void, undefined> {
  yield* resumingFrames(
    {
      open: (_, signal) =>
        transport.attempt({
          method: 'GET',
          path,
          headers: new Headers(),
          body: undefined,
          accepts: { key: true, user: true, operator: false },
          signal,
        }),
      kindOf: () => 'event',
      beginsAnew: true,
      isPassing: (error) => isPassing(transport, error),
    },
    { reconnects: Number.POSITIVE_INFINITY, ...options },
    transport.surroundings,
  );
}
