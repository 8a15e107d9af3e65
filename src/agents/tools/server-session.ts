import {
  Client,
  type JsonSchemaValidator,
  type jsonSchemaValidator,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import type { Egress } from '../../infra/egress/index.js';
import type { McpServer } from '../schemas/editor-schema.js';
import { greetingAnswered } from './server-greeting.js';

const answerBytesMax = 4 * 1024 * 1024;
/** How long a server is waited for that is told of the end of its session. */
const farewellMs = 2_000;

export interface ServerAccess {
  readonly server: McpServer;
  /** With the credential in them. */
  readonly headers: Readonly<Record<string, string>>;
  readonly egress: Pick<Egress, 'fetchLike'>;
  /** Of each request to the server. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** As the protocol's package wants the limits of one request. */
export interface RequestLimits {
  readonly timeout: number;
  readonly maxTotalTimeout: number;
  readonly signal: AbortSignal;
}

type Limits = Pick<ServerAccess, 'timeoutMs'> & { readonly signal?: AbortSignal };

/** The schemas are the server's own: compiling them here would run its regular expressions on our time. */
const noValidation: jsonSchemaValidator = {
  getValidator<T>(): JsonSchemaValidator<T> {
    return (input) => ({ valid: true, data: input as T, errorMessage: undefined });
  },
};

/**
 * A greeted session with an MCP server. It is lent to one call at a time, whose limits then bind every request, and
 * each request leaves by the guarded way out: an address that is forbidden by now is not connected to.
 */
export class ServerSession {
  readonly client: Client;
  readonly #transport: StreamableHTTPClientTransport;
  #limits: Limits;

  private constructor({ server, headers, egress, timeoutMs, signal }: ServerAccess) {
    this.#limits = { timeoutMs, signal };
    this.#transport = new StreamableHTTPClientTransport(new URL(server.url), {
      fetch: async (url, init) => {
        // A stream of what the server might say by itself would hold a connection for nobody.
        if (init?.method === 'GET') return new Response(null, { status: 405 });
        const limits = { ...this.#limits, bodyBytesMax: answerBytesMax, redirectsMax: 0 };
        return greetingAnswered(init?.body, await egress.fetchLike(limits)(url, init));
      },
      requestInit: { headers: { ...headers } },
      reconnectionOptions: {
        maxRetries: 0,
        initialReconnectionDelay: 1_000,
        maxReconnectionDelay: 1_000,
        reconnectionDelayGrowFactor: 1,
      },
    });
    this.client = new Client(
      { name: 'troupe', version: '1' },
      {
        // Servers of the present revision and of those before.
        versionNegotiation: { mode: 'auto' },
        jsonSchemaValidator: noValidation,
      },
    );
  }

  static async open(access: ServerAccess): Promise<ServerSession> {
    const session = new ServerSession(access);
    try {
      await session.client.connect(session.#transport, limitsOf(access));
      return session;
    } catch (error) {
      await session.close();
      throw error;
    }
  }

  /** Whether the server knows the session by an id, which it may forget. */
  get isKnownById(): boolean {
    return this.#transport.sessionId !== undefined;
  }

  /** From now on requests are this call's. */
  lendTo({ timeoutMs, signal }: ServerAccess): void {
    this.#limits = { timeoutMs, signal };
  }

  /**
   * Ends what still runs in it. A server that opened a session would otherwise keep it until it forgets it by itself.
   * Never rejects.
   */
  async close(): Promise<void> {
    this.#limits = { timeoutMs: farewellMs };
    try {
      if (this.#transport.sessionId !== undefined) await this.#transport.terminateSession();
      await this.client.close();
    } catch {
      // Servers may refuse this, and one that has gone does not answer; the session ends there by its own clock.
    }
  }
}

export function limitsOf({ timeoutMs, signal }: ServerAccess): RequestLimits {
  return { timeout: timeoutMs, maxTotalTimeout: timeoutMs, signal };
}
