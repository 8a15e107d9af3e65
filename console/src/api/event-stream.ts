/** One server-sent event. */
export interface SentEvent {
  readonly id: string | undefined;
  readonly event: string | undefined;
  readonly data: string | undefined;
}

/** An event beyond this is refused: no answer of the API is as long. */
const charactersMax = 4 * 1024 * 1024;

/** Reads server-sent events until the stream ends. */
export async function readEvents(
  body: ReadableStream<Uint8Array>,
  receive: (event: SentEvent) => void,
): Promise<void> {
  const reader = body.pipeThrough(new TextDecoderStream() as TransformStream<Uint8Array, string>).getReader();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    rest += value;
    if (rest.length > charactersMax) throw new Error('the stream sent an event without an end');
    // An event ends with an empty line.
    const parts = rest.split(/\r?\n\r?\n/);
    rest = parts.pop() ?? '';
    for (const part of parts) {
      const event = eventOf(part);
      if (event !== undefined) receive(event);
    }
  }
}

function eventOf(text: string): SentEvent | undefined {
  let id: string | undefined;
  let event: string | undefined;
  const data: string[] = [];
  for (const line of text.split(/\r?\n/)) {
    const [, name = '', value = ''] = /^([^:]*):? ?(.*)$/.exec(line) ?? [];
    if (name === 'id') id = value;
    else if (name === 'event') event = value;
    else if (name === 'data') data.push(value);
  }
  if (id === undefined && data.length === 0) return undefined;
  return { id, event, data: data.length === 0 ? undefined : data.join('\n') };
}
