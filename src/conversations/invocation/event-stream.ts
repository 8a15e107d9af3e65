/** Server-sent events as text. JSON contains no raw line break, so one `data` line is always enough. */

export interface ServerSentEvent {
  readonly type: string;
}

export function encodeEvent(id: bigint | number | string, event: ServerSentEvent): string {
  return `id: ${id}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}

/** A comment: clients skip it, and proxies see that the connection is alive. */
export const keepAliveComment = ': keep-alive\n\n';

/** Proxies commonly close a connection after 60 s of silence, some after 30 s. */
export const keepAliveMs = 15_000;
