import { Agent, WebSocket } from 'undici';
import { eventually } from '../clocks/eventually.js';

// Not the classes of `fetch`, which belong to Node's own release of the library: the two releases do not always understand
// each other's upgrades.
const connections = new Agent();

export interface TestSocket {
  readonly messages: string[];
  /** The code that closed it; undefined while it is open. */
  readonly closedWith: () => number | undefined;
  close(): void;
}

/** An open WebSocket to a server of this machine. */
export async function openSocket(
  url: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<TestSocket> {
  const socket = new WebSocket(url.replace(/^http/, 'ws'), { headers, dispatcher: connections });
  const messages: string[] = [];
  let opened = false;
  let code: number | undefined;
  socket.addEventListener('open', () => (opened = true));
  socket.addEventListener('message', ({ data }) => messages.push(String(data)));
  socket.addEventListener('close', (event) => (code = event.code));
  // The close that follows tells all that a test needs.
  socket.addEventListener('error', () => undefined);
  await eventually(() => opened || code !== undefined, { what: 'an open socket' });
  if (code !== undefined) throw new Error(`the socket was closed with ${code}`);
  return { messages, closedWith: () => code, close: () => socket.close() };
}

export interface TestStream {
  /** Whole server-sent events so far, as text, without comments. */
  readonly events: () => string[];
  readonly ended: () => boolean;
  close(): void;
}

/** An open stream of server-sent events. */
export async function openEvents(
  url: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<TestStream> {
  const leaving = new AbortController();
  const response = await fetch(url, { headers, signal: leaving.signal });
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
  let text = '';
  let ended = false;
  const read = async (): Promise<void> => {
    const decoder = new TextDecoder();
    for await (const piece of response.body ?? []) text += decoder.decode(piece, { stream: true });
  };
  // Leaving, and a server that cuts, end it alike.
  void read()
    .catch(() => undefined)
    .finally(() => (ended = true));
  await eventually(() => text.length > 0, { what: 'the first bytes of a stream' });
  return {
    events: () =>
      text
        .split('\n\n')
        .slice(0, -1)
        .filter((part) => !part.startsWith(':')),
    ended: () => ended,
    close: () => leaving.abort(),
  };
}

/** A stream that breaks off, as text. */
export async function brokenText(response: Response): Promise<string> {
  let text = '';
  try {
    const decoder = new TextDecoder();
    for await (const piece of response.body ?? []) text += decoder.decode(piece, { stream: true });
  } catch {
    // It was cut, as it must be.
  }
  return text;
}
