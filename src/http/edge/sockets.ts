import type {
  HttpRequest,
  HttpResponse,
  us_socket_context_t,
  WebSocket,
  WebSocketBehavior,
} from 'uWebSockets.js';
import type { PlatformError } from '../../kernel/errors.js';
import type { SocketWriter } from '../operations/index.js';

/** The data of a WebSocket request that outlives the native request. */
export interface Handshake {
  readonly key: string;
  readonly extensions: string;
  readonly context: us_socket_context_t;
}

interface SocketData {
  readonly socket: OpenSocket;
}

export const closeCodes = {
  normal: 1000,
  goingAway: 1001,
  internalError: 1011,
  /** Corresponds to HTTP 401: the credential that opened the socket has ended. */
  credentialEnded: 4401,
} as const;

/** After this much silence the client counts as gone; a ping is sent some seconds before. */
const idleSeconds = 32;
/** Messages from clients are not used. */
const messageBytesMax = 4_096;
/** A client that falls this far behind is closed; it can reconnect with its last event id. */
const backpressureBytesMax = 1_048_576;

export function socketBehavior(
  take: (response: HttpResponse, request: HttpRequest, handshake: Handshake) => void,
): WebSocketBehavior<SocketData> {
  return {
    idleTimeout: idleSeconds,
    sendPingsAutomatically: true,
    maxPayloadLength: messageBytesMax,
    maxBackpressure: backpressureBytesMax,
    closeOnBackpressureLimit: true,
    upgrade: (response, request, context) =>
      take(response, request, {
        key: request.getHeader('sec-websocket-key'),
        extensions: request.getHeader('sec-websocket-extensions'),
        context,
      }),
    open: (native) => native.getUserData().socket.opened(native),
    drain: (native) => native.getUserData().socket.hasRoom(),
    close: (native) => native.getUserData().socket.closed(),
  };
}

/** Wraps the native socket. After the native socket has closed, every call on it would throw. */
export class OpenSocket implements SocketWriter {
  #native: WebSocket<SocketData> | undefined;
  readonly #controller = new AbortController();
  #wake: (() => void) | undefined;
  readonly #onClose: () => void;

  /** `onClose` is called only for a socket that was open. */
  constructor(onClose: () => void) {
    this.#onClose = onClose;
  }

  get gone(): AbortSignal {
    return this.#controller.signal;
  }

  opened(native: WebSocket<SocketData>): void {
    this.#native = native;
  }

  hasRoom(): void {
    if (this.#native?.getBufferedAmount() === 0) this.#wake?.();
  }

  closed(): void {
    if (this.#native !== undefined) this.#onClose();
    this.#native = undefined;
    this.#controller.abort();
    this.#wake?.();
  }

  send(text: string): boolean {
    // 1 means sent, 0 buffered; a message that does not fit into the buffer closes the socket.
    return this.#native === undefined || this.#native.send(text) === 1;
  }

  drained(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#native === undefined || this.#native.getBufferedAmount() === 0) return resolve();
      this.#wake = () => {
        this.#wake = undefined;
        resolve();
      };
    });
  }

  join(topic: string): void {
    this.#native?.subscribe(topic);
  }

  close(code: number, reason: string): void {
    this.#native?.end(code, reason);
  }

  cut(refusal?: PlatformError): void {
    if (refusal !== undefined) {
      const { code, message } = refusal;
      this.send(JSON.stringify({ type: 'error', code, message }));
    }
    this.close(closeCodes.credentialEnded, 'the credential has ended');
  }
}
