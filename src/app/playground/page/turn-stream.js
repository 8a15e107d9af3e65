/**
 * One turn as server-sent events over fetch, because EventSource can neither POST nor send headers. After a lost or
 * closed connection, `Last-Event-ID` continues the stream after the last received event.
 */
const attemptsMax = 8;
const pauseMs = 500;

export class TurnStream {
  #credential;
  #onEvent;
  #onConnection;
  #connection = new AbortController();
  #executionId;
  #lastId = '0';
  #done = false;
  #left = false;

  constructor({ credential, onEvent, onConnection }) {
    this.#credential = credential;
    this.#onEvent = onEvent;
    this.#onConnection = onConnection;
  }

  /** Resolves after the last event; rejects if the turn is refused or can no longer be reached. */
  async run(agentId, body) {
    const path = `/api/v2/agents/${encodeURIComponent(agentId)}/stream`;
    await this.#read(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    for (let attempt = 1; !this.#done && !this.#left; attempt += 1) {
      if (this.#executionId === undefined || attempt > attemptsMax) {
        throw new Error('The connection to the turn was lost.');
      }
      this.#onConnection('reconnecting …');
      const before = this.#lastId;
      await this.#read(`/api/v1/executions/${encodeURIComponent(this.#executionId)}/stream`, {
        headers: { 'last-event-id': this.#lastId },
      });
      // Progress resets the count of attempts.
      if (this.#lastId !== before) attempt = 0;
      if (!this.#done && !this.#left) await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }

  /** Drops the connection; the turn and its stream continue over a new one. */
  reconnect() {
    this.#connection.abort();
  }

  /** Stops reading. The turn itself continues on the server. */
  leave() {
    this.#left = true;
    this.#connection.abort();
  }

  async #read(path, { headers, ...request }) {
    const connection = new AbortController();
    this.#connection = connection;
    try {
      const response = await fetch(path, {
        ...request,
        headers: { ...this.#credential(), ...headers },
        signal: connection.signal,
      });
      if (!response.ok) await refuse(response, this.#executionId !== undefined);
      else await this.#readEvents(response.body.pipeThrough(new TextDecoderStream()), connection.signal);
    } catch (error) {
      if (this.#left) return;
      // Once the turn runs, a lost connection does not end it.
      if (error instanceof Refused || this.#executionId === undefined) throw error;
    }
  }

  async #readEvents(stream, signal) {
    const reader = stream.getReader();
    let rest = '';
    for (;;) {
      const { done, value } = await reader.read();
      if (done || signal.aborted) return;
      const frames = (rest + value).split('\n\n');
      rest = frames.pop();
      for (const frame of frames) this.#take(frame);
    }
  }

  #take(frame) {
    const fields = Object.fromEntries(
      frame
        .split('\n')
        .filter((line) => !line.startsWith(':') && line.includes(': '))
        .map((line) => [line.slice(0, line.indexOf(': ')), line.slice(line.indexOf(': ') + 2)]),
    );
    if (fields.data === undefined || this.#done) return;
    const data = JSON.parse(fields.data);
    this.#lastId = fields.id ?? this.#lastId;
    if (data.type === 'metadata') this.#executionId = data.execution_id;
    if (data.type === 'done') this.#done = true;
    this.#onEvent(fields.id, data);
  }
}

class Refused extends Error {}

/** A refusal is final; once the turn runs, 5xx is retried, because a node may be starting or stopping. */
async function refuse(response, running) {
  const answer = await response.json().catch(() => ({}));
  if (running && response.status >= 500) return;
  throw new Refused(answer.message ?? `The server answered ${response.status}.`);
}
