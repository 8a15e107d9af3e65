import { isTokenRefusal } from './credentials.js';
import { ConnectionError } from './errors.js';
import { isPassing } from './passing.js';
import {
  resumingFrames,
  type ConnectionState,
  type ResumeOptions,
  type StreamSource,
} from './resuming-stream.js';
import type { Frame } from './sse-reader.js';
import type { Sending, Transport } from './transport.js';
import {
  type ErrorEvent,
  isTurnEvent,
  type MetricsEvent,
  type Outcome,
  type ResponseEvent,
  type TurnEvent,
} from './turn-events.js';

export interface TurnOptions {
  /** Ends the reading, not the turn: `cancel` does that, or `cancelOnDisconnect`. */
  readonly signal?: AbortSignal | undefined;
  /** Makes a repeat of the same message the same turn, for 24 hours. Random by default. */
  readonly idempotencyKey?: string | undefined;
  /** The turn ends with the connection, so a lost one is not continued. */
  readonly cancelOnDisconnect?: boolean | undefined;
  /** Connections in a row that may bring nothing. Default 12. */
  readonly reconnects?: number | undefined;
  /** A connection that is silent for this long is replaced. Default 45 s; the platform sends a comment every 15 s. */
  readonly silenceMs?: number | undefined;
  readonly onConnection?: ((state: ConnectionState) => void) | undefined;
}

export interface TurnResult {
  readonly outcome: Outcome;
  /** The whole text; what there was of it if the turn was cancelled. */
  readonly text: string;
  readonly sessionId: string;
  readonly executionId: string;
  /** The response as a value, if it had to fit a schema. */
  readonly parsed: unknown;
  readonly response: ResponseEvent | undefined;
  readonly metrics: MetricsEvent | undefined;
  /** Why the turn failed. */
  readonly error: ErrorEvent | undefined;
}

/** How a turn begins: a new one, or one to continue. */
export type TurnStart =
  | { readonly kind: 'message'; readonly sending: Sending }
  | { readonly kind: 'execution'; readonly executionId: string; readonly lastEventId: string | undefined };

const accepts = { key: true, user: true, operator: false };

/**
 * A turn of an agent: an async iterable of its events, each once and in order, over as many connections and nodes as it
 * takes. Iterate it, or await `result()`; one of the two, once.
 */
export class Turn implements AsyncIterable<TurnEvent> {
  readonly #transport: Transport;
  readonly #start: TurnStart;
  readonly #options: TurnOptions;
  #executionId: string | undefined;
  #sessionId: string | undefined;
  #lastEventId: string | undefined;
  /** The message was accepted, or an answer to it was lost. Repeated with its key it joins a turn that it began. */
  #mayHaveBegun = false;
  #isTaken = false;
  #text = '';

  constructor(transport: Transport, start: TurnStart, options: TurnOptions) {
    this.#transport = transport;
    this.#start = start;
    this.#options = options;
    if (start.kind === 'execution') {
      this.#executionId = start.executionId;
      this.#lastEventId = start.lastEventId;
    }
  }

  /** Known from the first event on. */
  get executionId(): string | undefined {
    return this.#executionId;
  }

  get sessionId(): string | undefined {
    return this.#sessionId;
  }

  /** The last event that was handed out. With `executionId` it continues the turn in another process. */
  get lastEventId(): string | undefined {
    return this.#lastEventId;
  }

  /** The text so far. */
  get text(): string {
    return this.#text;
  }

  [Symbol.asyncIterator](): AsyncGenerator<TurnEvent, void, undefined> {
    if (this.#isTaken) throw new Error('The turn is being read already; executions.follow reads it again.');
    this.#isTaken = true;
    return this.#events();
  }

  /** Reads the turn to its end. */
  async result(): Promise<TurnResult> {
    let response: ResponseEvent | undefined;
    let metrics: MetricsEvent | undefined;
    let error: ErrorEvent | undefined;
    for await (const event of this) {
      if (event.type === 'response') response = event;
      else if (event.type === 'metrics') metrics = event;
      else if (event.type === 'error') error = event;
      else if (event.type === 'done') {
        return {
          outcome: event.outcome,
          text: this.#text,
          sessionId: event.session_id,
          executionId: event.execution_id,
          parsed: response?.parsed,
          response,
          metrics,
          error,
        };
      }
    }
    throw new ConnectionError('The turn was left before its end.', this.#position());
  }

  /** Ends the turn itself. False if it had ended before. */
  async cancel(): Promise<boolean> {
    const [sessionId, executionId] = [this.#sessionId, this.#executionId];
    if (sessionId === undefined || executionId === undefined) {
      throw new Error('The turn has not begun: its first event names its session.');
    }
    const answer = await this.#transport.json<{ readonly data: { readonly cancelled: boolean } }>({
      method: 'POST',
      path: `/api/v1/sessions/${encodeURIComponent(sessionId)}/cancel`,
      headers: new Headers({ 'content-type': 'application/json' }),
      body: new TextEncoder().encode(JSON.stringify({ execution_id: executionId })),
      accepts,
      signal: undefined,
    });
    return answer.data.cancelled;
  }

  async *#events(): AsyncGenerator<TurnEvent, void, undefined> {
    const frames = resumingFrames(this.#source(), this.#resumeOptions(), this.#transport.surroundings);
    try {
      for await (const frame of frames) {
        this.#lastEventId = frame.id;
        const event = eventOf(frame);
        if (!isTurnEvent(event)) continue;
        this.#note(event);
        yield event;
      }
    } catch (error) {
      if (!(error instanceof ConnectionError)) throw error;
      throw new ConnectionError(error.message, { cause: error.cause, ...this.#position() });
    }
  }

  #note(event: TurnEvent): void {
    if (event.type === 'metadata') {
      this.#executionId = event.execution_id;
      this.#sessionId = event.session_id;
    } else if (event.type === 'delta') this.#text += event.content;
    else if (event.type === 'response') this.#text = event.content;
    else if (event.type === 'status' && event.state === 'restarted') this.#text = '';
    else if (event.type === 'done') this.#sessionId = event.session_id;
  }

  #source(): StreamSource {
    return {
      open: (lastEventId, signal) => this.#open(lastEventId, signal),
      kindOf: (frame, lastEventId) => {
        if (frame.type === 'done') return 'last';
        if (frame.type !== 'error') return 'event';
        // An error of the connection carries no id of its own.
        return frame.id === undefined || frame.id === (lastEventId ?? '0') ? 'lost' : 'event';
      },
      isPassing: async (error) => {
        if (isTokenRefusal(error) && (await this.#transport.dropToken())) return true;
        const mayRun = this.#executionId !== undefined || this.#mayHaveBegun;
        return mayRun && isPassing(error, this.#transport.retryAfterMsMax);
      },
    };
  }

  async #open(lastEventId: string | undefined, signal: AbortSignal): Promise<Response> {
    if (this.#executionId === undefined && this.#start.kind === 'message') {
      const onUnanswered = (): void => void (this.#mayHaveBegun = true);
      return this.#opened(await this.#transport.send({ ...this.#start.sending, signal, onUnanswered }));
    }
    return this.#transport.attempt({
      method: 'GET',
      path: `/api/v1/executions/${encodeURIComponent(this.#executionId ?? '')}/stream`,
      headers: new Headers(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
      body: undefined,
      accepts,
      signal,
    });
  }

  #opened(response: Response): Response {
    this.#mayHaveBegun ||= response.ok;
    // Browsers show the header only to origins that may read it; the first event carries the same id.
    this.#executionId = response.headers.get('x-execution-id') ?? this.#executionId;
    return response;
  }

  #resumeOptions(): ResumeOptions {
    const { signal, reconnects, silenceMs, onConnection, cancelOnDisconnect } = this.#options;
    return {
      signal,
      silenceMs,
      onConnection,
      lastEventId: this.#lastEventId,
      reconnects: cancelOnDisconnect === true ? 0 : reconnects,
    };
  }

  #position() {
    return { executionId: this.#executionId, lastEventId: this.#lastEventId };
  }
}

function eventOf({ data, type }: Frame): { readonly type: string } {
  const event: unknown = JSON.parse(data ?? 'null');
  if (typeof event === 'object' && event !== null) return { ...event, type };
  throw new Error(`The event ${type} is no object: ${data}`);
}
