import type { RequestSpan } from '../../infra/diagnostics/index.js';
import type { Credentials, Operation } from '../operations/index.js';
import type { Exchange } from './exchange.js';
import type { Handshake } from './sockets.js';

/** A request with its operation and all data copied from the native side. */
export interface Incoming {
  readonly operation: Operation;
  readonly params: Readonly<Record<string, string>>;
  readonly credentials: Credentials;
  readonly headers: Readonly<Record<string, string>>;
  readonly exchange: Exchange;
  /** Set if the client requests a WebSocket. */
  readonly handshake: Handshake | undefined;
  /** Set only if tracing is on. */
  readonly span: RequestSpan | undefined;
}
