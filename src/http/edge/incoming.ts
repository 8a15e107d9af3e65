import type { RequestSpan } from '../../infra/diagnostics/index.js';
import type { Credentials, Operation } from '../operations/index.js';
import type { Exchange } from './exchange.js';
import type { Handshake } from './sockets.js';

/** A request that found its operation, with all that was copied from the native side. */
export interface Incoming {
  readonly operation: Operation;
  readonly params: Readonly<Record<string, string>>;
  readonly credentials: Credentials;
  readonly headers: Readonly<Record<string, string>>;
  readonly exchange: Exchange;
  /** Where the client asks for a WebSocket. */
  readonly handshake: Handshake | undefined;
  /** Only where somebody records traces. */
  readonly span: RequestSpan | undefined;
}
