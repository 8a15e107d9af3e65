/** One event of a stream, or a comment, which only shows that the connection is alive. */
export interface Frame {
  readonly id: string | undefined;
  readonly type: string;
  /** Undefined for a comment, and for a frame that only moves the position. */
  readonly data: string | undefined;
}

/** No event of the platform is longer; a stream that sends more is not one of events. */
const frameCharactersMax = 64 * 1024 * 1024;

/** Reads server-sent events as the HTML standard describes them, from bytes that may be cut anywhere. */
export async function* readFrames(body: ReadableStream<Uint8Array>): AsyncGenerator<Frame, void, undefined> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      // An event whose blank line never came was cut, and is not handed out.
      if (done) return;
      rest += decoder.decode(value, { stream: true });
      const end = lastBlankLine(rest);
      if (end === 0) {
        if (rest.length > frameCharactersMax) throw new Error('The stream sent an event that is too long.');
        continue;
      }
      const whole = rest.slice(0, end);
      rest = rest.slice(end);
      for (const text of whole.split(/\r\n\r\n|\n\n|\r\r/)) if (text !== '') yield frameOf(text);
    }
  } finally {
    // Ends the connection of a reader that leaves early; a broken one rejects, which changes nothing.
    await reader.cancel().catch(() => undefined);
  }
}

/** The end of the last complete frame. */
function lastBlankLine(text: string): number {
  return Math.max(
    endOf(text, '\n\n'),
    endOf(text, '\r\n\r\n'),
    // A lone CR at the end may be the first half of CR LF.
    endOf(text, '\r\r'),
  );
}

function endOf(text: string, blank: string): number {
  const at = text.lastIndexOf(blank);
  return at === -1 ? 0 : at + blank.length;
}

function frameOf(text: string): Frame {
  let id: string | undefined;
  let type = 'message';
  const data: string[] = [];
  for (const line of text.split(/\r\n|\n|\r/)) {
    const colon = line.indexOf(':');
    if (colon === 0) continue;
    const name = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (name === 'data') data.push(value);
    else if (name === 'event') type = value;
    else if (name === 'id') id = value;
  }
  return { id, type, data: data.length === 0 ? undefined : data.join('\n') };
}
