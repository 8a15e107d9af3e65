import { ApiError, ConnectionError, refusalOf } from '../../client/src/errors';
import { isPassing } from '../../client/src/passing';
import { resumingFrames } from '../../client/src/resuming-stream';
import { type Surroundings, systemSurroundings } from '../../client/src/surroundings';
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

const shownMessages = 50;
/** The longest pause of the page where the platform asks for one. A turn that would wait longer is told to the visitor. */
export const longestPauseMs = 60_000;

/** The operations of a public key. */
export class ChatApi {
  readonly #settings: Settings;
  readonly #store: VisitorStore;
  readonly #surroundings: Surroundings;

  constructor(settings: Settings, store: VisitorStore, surroundings: Surroundings = systemSurroundings) {
    this.#settings = settings;
    this.#store = store;
    this.#surroundings = surroundings;
  }

  async history(sessionId: string, signal: AbortSignal): Promise<History> {
    const response = await this.#fetch(`/sessions/${sessionId}/messages?limit=${shownMessages}`, { signal });
    if (!response.ok) throw await refusalOf(response, this.#surroundings.nowMs());
    const { data, control_mode: mode } = await response.json();
    return { messages: data.toReversed(), isHandedOff: mode === 'manual_handoff' };
  }

  async cancel(executionId: string): Promise<void> {
    await this.#fetch(`/executions/${executionId}/cancel`, { method: 'POST' });
  }

  /** The events of the message's turn, over as many connections as it takes, until its end. */
  async *turn(message: PendingMessage, onLost: () => void): AsyncGenerator<TurnEvent, void, undefined> {
    let { executionId } = message;
    // An answer that was lost may have said that the message is accepted.
    let mayRun = executionId !== undefined;
    const source = {
      open: async (lastEventId: string | undefined, signal: AbortSignal): Promise<Response> => {
        if (executionId === undefined) {
          const refusal = await this.#makeVisitor(signal);
          if (refusal !== undefined) return refusal;
          const sent = this.#send(message, signal);
          mayRun = await sent.then(
            ({ ok }) => ok || mayRun,
            () => true,
          );
          return sent;
        }
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
      // Nothing waits for a message that a full window refused before it began: the visitor is told at once.
      isPassing: (error: ApiError) => (mayRun || error.status !== 429) && isPassing(error, longestPauseMs),
    };
    const onConnection = (state: string): void => {
      if (state === 'lost') onLost();
    };
    for await (const { data = '{}' } of resumingFrames(source, { onConnection }, this.#surroundings)) {
      const event = JSON.parse(data) as TurnEvent;
      if (event.type === 'metadata') executionId = event.execution_id;
      yield event;
    }
  }

  #send({ text, idempotencyKey }: PendingMessage, signal: AbortSignal): Promise<Response> {
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

  /** The refusal where the platform makes no visitor. */
  async #makeVisitor(signal: AbortSignal): Promise<Response | undefined> {
    if ((this.#store.visitor.secret ?? this.#store.takeSecret()) !== undefined) return undefined;
    const response = await this.#fetch('/visitors', { method: 'POST', signal });
    if (!response.ok) return response;
    const { secret } = (await response.json()).data;
    // Another page of the site may have got one meanwhile: both then chat as one visitor.
    if (this.#store.takeSecret() === undefined) this.#store.change({ secret });
    return undefined;
  }

  #fetch(path: string, init: RequestInit = {}): Promise<Response> {
    const { baseUrl, key } = this.#settings;
    const { secret } = this.#store.visitor;
    const headers = new Headers(init.headers);
    if (secret !== undefined) headers.set('x-visitor-secret', secret);
    // No cookies: the secret alone says who the visitor is.
    const url = `${baseUrl}/api/v1/chat/${key}${path}`;
    return this.#surroundings.fetch(new Request(url, { ...init, headers, credentials: 'omit' }));
  }
}

/** These refuse the page, its key or its tenant, before the platform looks whether the message has a turn. */
const ofThePage: ReadonlySet<string> = new Set([
  'invalid_api_key',
  'origin_not_allowed',
  'address_not_allowed',
  'tenant_suspended',
]);

/**
 * Whether the refusal says that the message has no turn. The platform keeps such a refusal for the message's key, so that
 * only another key begins one.
 */
export function hasNoTurn({ status, code }: ApiError, { executionId }: PendingMessage): boolean {
  // A turn that has begun is there until its conversation is erased, and belongs to the visitor who began it.
  if (executionId !== undefined) return code === 'not_found' || code === 'authentication_required';
  // Between page and platform, a proxy refuses without a code of the platform.
  const isOfPlatform = !code.startsWith('http_') && !ofThePage.has(code);
  return isOfPlatform && status >= 400 && status < 500 && status !== 408 && status !== 429;
}

/** What the visitor is told of a failure. */
export function faultOf(error: unknown): 'busy' | 'unavailable' | 'failed' {
  if (error instanceof ApiError && error.status === 429) return 'busy';
  if (error instanceof ApiError && error.status !== 409) return 'unavailable';
  return error instanceof ConnectionError ? 'unavailable' : 'failed';
}
