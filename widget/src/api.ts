import { ApiError, ConnectionError, refusalOf } from '../../client/src/errors';
import { resumingFrames } from '../../client/src/resuming-stream';
import { systemSurroundings } from '../../client/src/surroundings';
import type { Settings } from './settings';
import type { PendingMessage, VisitorStore } from './visitor';

export { ApiError };

export interface Message {
  readonly id: string;
  readonly from: 'visitor' | 'agent' | 'person';
  readonly content: string;
  readonly execution_id: string | null;
}

export interface History {
  /** Oldest first. */
  readonly messages: readonly Message[];
  readonly isHandedOff: boolean;
}

export type TurnEvent =
  | { readonly type: 'metadata'; readonly session_id: string; readonly execution_id: string }
  | { readonly type: 'status'; readonly state: string }
  | { readonly type: 'approval' }
  | { readonly type: 'delta'; readonly content: string }
  | { readonly type: 'response'; readonly content: string; readonly blocks?: readonly Block[] }
  | { readonly type: 'error'; readonly code: string }
  | { readonly type: 'done'; readonly outcome: string };

export interface Block {
  readonly type: string;
  readonly data?: { readonly labels?: readonly string[] };
}

/** Passing states of a node: it starts, stops, or is overloaded. */
const passing: ReadonlySet<number> = new Set([408, 500, 502, 503, 504]);
const shownMessages = 50;

/** The operations of a public key. */
export class ChatApi {
  readonly #settings: Settings;
  readonly #store: VisitorStore;

  constructor(settings: Settings, store: VisitorStore) {
    this.#settings = settings;
    this.#store = store;
  }

  async history(sessionId: string, signal: AbortSignal): Promise<History> {
    const response = await this.#fetch(`/sessions/${sessionId}/messages?limit=${shownMessages}`, { signal });
    if (!response.ok) throw await refusalOf(response, Date.now());
    const { data, control_mode: mode } = await response.json();
    return { messages: data.toReversed(), isHandedOff: mode === 'manual_handoff' };
  }

  async cancel(executionId: string): Promise<void> {
    await this.#fetch(`/executions/${executionId}/cancel`, { method: 'POST' });
  }

  /** The events of the message's turn, over as many connections as it takes, until its end. */
  async *turn(message: PendingMessage, onLost: () => void): AsyncGenerator<TurnEvent, void, undefined> {
    let { executionId } = message;
    const source = {
      open: async (lastEventId: string | undefined, signal: AbortSignal): Promise<Response> => {
        if (executionId === undefined) return this.#send(message, signal);
        const headers: HeadersInit = lastEventId === undefined ? [] : [['last-event-id', lastEventId]];
        return this.#fetch(`/executions/${executionId}/stream`, { headers, signal });
      },
      kindOf: ({ type, id }: { type: string; id: string | undefined }, last: string | undefined) => {
        if (type === 'done') return 'last' as const;
        // An error of the connection carries no id of its own.
        return type === 'error' && (id === undefined || id === (last ?? '0'))
          ? ('lost' as const)
          : ('event' as const);
      },
      isPassing: ({ status }: ApiError) => passing.has(status),
    };
    const onConnection = (state: string): void => {
      if (state === 'lost') onLost();
    };
    for await (const { data = '{}' } of resumingFrames(source, { onConnection }, systemSurroundings)) {
      const event = JSON.parse(data) as TurnEvent;
      if (event.type === 'metadata') executionId = event.execution_id;
      yield event;
    }
  }

  async #send({ text, idempotencyKey }: PendingMessage, signal: AbortSignal): Promise<Response> {
    await this.#makeVisitor(signal);
    const { sessionId } = this.#store.visitor;
    return this.#fetch(`/agents/${this.#settings.agent}/stream`, {
      method: 'POST',
      signal,
      headers: { 'content-type': 'application/json', 'idempotency-key': idempotencyKey },
      body: JSON.stringify({
        message: text,
        capabilities: { blocks: ['quick_replies'] },
        ...(sessionId === undefined ? {} : { session_id: sessionId }),
      }),
    });
  }

  async #makeVisitor(signal: AbortSignal): Promise<void> {
    if (this.#store.visitor.secret !== undefined) return;
    const response = await this.#fetch('/visitors', { method: 'POST', signal });
    if (!response.ok) throw await refusalOf(response, Date.now());
    this.#store.change({ secret: (await response.json()).data.secret });
  }

  #fetch(path: string, init: RequestInit = {}): Promise<Response> {
    const { baseUrl, key } = this.#settings;
    const { secret } = this.#store.visitor;
    const headers = new Headers(init.headers);
    if (secret !== undefined) headers.set('x-visitor-secret', secret);
    // No cookies: the secret alone says who the visitor is.
    return fetch(`${baseUrl}/api/v1/chat/${key}${path}`, { ...init, headers, credentials: 'omit' });
  }
}

/** What the visitor is told of a failure. */
export function faultOf(error: unknown): 'busy' | 'unavailable' | 'failed' {
  if (error instanceof ApiError && error.status === 429) return 'busy';
  if (error instanceof ApiError && error.status < 500 && error.status !== 409) return 'unavailable';
  return error instanceof ConnectionError ? 'unavailable' : 'failed';
}
