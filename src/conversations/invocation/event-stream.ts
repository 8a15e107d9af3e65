/** Server-sent events as text. JSON holds no raw line break, so one `data` line is always enough. */

export interface ServerSentEvent {
  readonly type: string;
}

export function encodeEvent(id: bigint | number | string, event: ServerSentEvent): string {
  return `id: ${id}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}

/** A comment: clients skip it, and proxies see that the connection lives. */
export const keepAliveComment = ': keep-alive\n\n';

/** Proxies commonly close a connection that was silent for 60 s, some for 30. */
export const keepAliveMs = 15_000;
