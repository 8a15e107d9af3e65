// A client of turns: reads the events of one, and continues at another node when the connection is lost.
import { setTimeout as delay } from 'node:timers/promises';
import { turnEventShape } from '../../../src/conversations/invocation/index.js';
import { holdEvent } from './declared-events.js';

export interface SeenEvent {
  readonly id: number;
  readonly type: string;
  readonly data: { readonly type: string; readonly [name: string]: unknown };
}

export interface TurnReading {
  readonly executionId: string;
  readonly sessionId: string;
  readonly events: readonly SeenEvent[];
  /** The text as a client puts it together from its pieces. */
  readonly text: string;
  /** The data of the `response` event. */
  readonly response: string | undefined;
  readonly outcomes: readonly string[];
  /** How often the connection was lost. */
  readonly cuts: number;
}

export class RefusedTurn extends Error {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;

  constructor({ status, headers }: Response, body: string) {
    super(`the turn was refused: ${status} ${body}`);
    this.status = status;
    this.headers = headers;
    this.body = body;
  }

  /** The seconds after which to ask again, if the refusal was for the moment. */
  get retryAfter(): number | undefined {
    const seconds = this.headers.get('retry-after');
    return this.status === 503 && seconds !== null ? Number(seconds) : undefined;
  }
}

export interface ReadOptions {
  /** The nodes to ask; the next one is used after a lost connection. */
  readonly urls: () => readonly string[];
  readonly key: string;
  readonly agentId: string;
  readonly body: object;
  /** Ends the connection after so many events, to continue at another node. */
  readonly cutAfter?: number;
  readonly onEvent?: (event: SeenEvent) => void;
  readonly patienceMs?: number;
  /** Ends a connection that has brought nothing for so long, to go on elsewhere. */
  readonly silenceMs?: number;
}

/** Begins a turn and reads it to its end. */
export async function readTurn(options: ReadOptions): Promise<TurnReading> {
  const { urls, key, agentId, body } = options;
  const state = new Reading(options);
  const endsAt = performance.now() + (options.patienceMs ?? 120_000);
  let at = Math.floor(Math.random() * 100);
  const url = (): string => {
    const all = urls();
    return all[at++ % all.length] ?? '';
  };
  await state.read(
    fetch(`${url()}/api/v2/agents/${agentId}/stream`, {
      method: 'POST',
      headers: { 'x-api-key': key, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: state.signal(),
    }),
    true,
  );
  while (!state.done) {
    if (performance.now() > endsAt) throw new Error(`the turn ${state.executionId} has no end`);
    await state.read(
      fetch(`${url()}/api/v1/executions/${state.executionId}/stream`, {
        headers: { 'x-api-key': key, 'last-event-id': String(state.lastId) },
        signal: state.signal(),
      }),
      false,
    );
    // A turn whose node has ended with its test has no reader to wait for: the loop may end.
    if (!state.done) await delay(50, undefined, { ref: false });
  }
  return state.result();
}

/**
 * The same, but a node that has no room or no store in the moment refuses with 503 before the turn begins, and says
 * when to ask again.
 */
export async function readServed(
  options: ReadOptions & { readonly onRefused?: () => void },
): Promise<TurnReading> {
  for (;;) {
    const reading = await readTurn(options).catch(async (error: unknown) => {
      const retryAfter = error instanceof RefusedTurn ? error.retryAfter : undefined;
      if (retryAfter === undefined) throw error;
      options.onRefused?.();
      await delay(1_000 * retryAfter);
      return undefined;
    });
    if (reading !== undefined) return reading;
  }
}

class Reading {
  executionId = '';
  sessionId = '';
  lastId = 0;
  done = false;
  readonly #options: ReadOptions;
  readonly #events: SeenEvent[] = [];
  readonly #outcomes: string[] = [];
  #text = '';
  #response: string | undefined;
  #cuts = -1;
  #seenHere = 0;
  #abort = new AbortController();
  #silence: NodeJS.Timeout | undefined;

  constructor(options: ReadOptions) {
    this.#options = options;
  }

  signal(): AbortSignal {
    this.#abort = new AbortController();
    this.#seenHere = 0;
    return this.#abort.signal;
  }

  async read(asking: Promise<Response>, first: boolean): Promise<void> {
    this.#cuts += 1;
    this.#heardNow();
    try {
      const response = await asking;
      if (response.status !== 200) {
        const text = await response.text();
        // A starting or stopping node refuses, and the next one is asked.
        if (!first && response.status >= 500) return;
        throw new RefusedTurn(response, text);
      }
      let rest = '';
      const decoder = new TextDecoder();
      for await (const chunk of response.body ?? []) {
        this.#heardNow();
        rest += decoder.decode(chunk, { stream: true });
        const frames = rest.split('\n\n');
        rest = frames.pop() ?? '';
        for (const frame of frames) this.#take(frame);
        // Aborted in the moment of its end, a body may never say so.
        if (this.#abort.signal.aborted) break;
      }
    } catch (error) {
      if (error instanceof RefusedTurn || this.executionId === '') throw error;
    } finally {
      clearTimeout(this.#silence);
    }
  }

  #heardNow(): void {
    clearTimeout(this.#silence);
    const { silenceMs } = this.#options;
    if (silenceMs !== undefined) this.#silence = setTimeout(() => this.#abort.abort(), silenceMs);
  }

  result(): TurnReading {
    return {
      executionId: this.executionId,
      sessionId: this.sessionId,
      events: this.#events,
      text: this.#text,
      response: this.#response,
      outcomes: this.#outcomes,
      cuts: this.#cuts,
    };
  }

  #take(frame: string): void {
    const data = /^data: (.*)$/m.exec(frame)?.[1];
    if (data === undefined || this.done || this.#abort.signal.aborted) return;
    const event: SeenEvent = {
      id: Number(/^id: (\d+)$/m.exec(frame)?.[1]),
      type: /^event: (.*)$/m.exec(frame)?.[1] ?? '',
      data: JSON.parse(data),
    };
    holdEvent(turnEventShape, event.data);
    // Of the connection, not of the turn.
    if (event.type === 'error' && event.id === this.lastId) return;
    if (event.id <= this.lastId) throw new Error(`event ${event.id} came after ${this.lastId}`);
    this.lastId = event.id;
    this.#events.push(event);
    this.#read(event);
    this.#options.onEvent?.(event);
    this.#seenHere += 1;
    if (this.#seenHere === this.#options.cutAfter && !this.done) this.#abort.abort();
  }

  #read({ type, data }: SeenEvent): void {
    switch (type) {
      case 'metadata':
        this.executionId = String(data['execution_id']);
        this.sessionId = String(data['session_id']);
        break;
      case 'status':
        if (data['state'] === 'restarted') this.#text = '';
        break;
      case 'delta':
        this.#text += String(data['content']);
        break;
      case 'response':
        this.#response = String(data['content']);
        break;
      case 'done':
        this.done = true;
        this.#outcomes.push(String(data['outcome']));
        break;
    }
  }
}
