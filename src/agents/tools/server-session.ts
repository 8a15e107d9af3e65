import {
  Client,
  type JsonSchemaValidator,
  type jsonSchemaValidator,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import type { Egress, MayBegin } from '../../infra/egress/index.js';
import type { McpServer } from '../schemas/editor-schema.js';
import { greetingAnswered } from './server-greeting.js';

const answerBytesMax = 4 * 1024 * 1024;
/** How long to wait for a server's answer to the end of its session. */
const farewellMs = 2_000;
const packageGraceMs = 5_000;

export interface ServerAccess {
  readonly tenantId: string;
  readonly server: McpServer;
  /** Includes the credential. */
  readonly headers: Readonly<Record<string, string>>;
  readonly egress: Pick<Egress, 'fetchLike'>;
  /** For each request to the server. */
  readonly timeoutMs: number;
  /** Asked right before each request. */
  readonly mayBegin?: MayBegin;
  readonly signal: AbortSignal;
}

/** The limits of one request, in the form that the MCP package takes. */
export interface RequestLimits {
  readonly timeout: number;
  readonly maxTotalTimeout: number;
  readonly signal: AbortSignal;
}

type Limits = Pick<ServerAccess, 'timeoutMs' | 'mayBegin'> & {
  readonly share: string;
  readonly signal?: AbortSignal;
};

function limitsOfRequests({
  tenantId,
  timeoutMs,
  mayBegin,
  signal,
}: Omit<ServerAccess, 'server' | 'headers' | 'egress'>): Limits {
  return { share: tenantId, timeoutMs, signal, ...(mayBegin !== undefined && { mayBegin }) };
}

/** Disables validation: compiling the server's schemas would run its regular expressions in this process. */
const noValidation: jsonSchemaValidator = {
  getValidator<T>(): JsonSchemaValidator<T> {
    return (input) => ({ valid: true, data: input as T, errorMessage: undefined });
  },
};

/**
 * An open session with an MCP server. It is lent to one call at a time, and that call's limits bind every request.
 * Each request passes the egress guard, so an address that has become forbidden is not connected to.
 */
export class ServerSession {
  readonly client: Client;
  readonly #transport: StreamableHTTPClientTransport;
  #limits: Limits;

  private constructor(access: ServerAccess) {
    const { server, headers, egress } = access;
    this.#limits = limitsOfRequests(access);
    this.#transport = new StreamableHTTPClientTransport(new URL(server.url), {
      fetch: async (url, init) => {
        // A stream for messages that the server starts would hold a connection without use.
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
        // Supports servers of the present and earlier revisions.
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

  /** Whether the server identifies the session by an id, which it may forget. */
  get isKnownById(): boolean {
    return this.#transport.sessionId !== undefined;
  }

  /** From now on, this call's limits apply to requests. */
  lendTo(access: ServerAccess): void {
    this.#limits = limitsOfRequests(access);
  }

  /**
   * Ends the requests that are in progress. Without this, a server would keep the session until its own timeout.
   * Never rejects.
   */
  async close(): Promise<void> {
    this.#limits = { share: this.#limits.share, timeoutMs: farewellMs };
    try {
      if (this.#transport.sessionId !== undefined) await this.#transport.terminateSession();
      await this.client.close();
    } catch {
      // Servers may refuse this, and an unavailable server does not answer; the session then ends by the server's
      // timeout.
    }
  }
}

/**
 * The guard and the signal of a call end a request first: after a stall of the event loop they look for the answer once
 * more, and the package's own timer does not. It ends what the package itself would wait for without an end.
 */
export function limitsOf({ timeoutMs, signal }: ServerAccess): RequestLimits {
  const timeout = timeoutMs + packageGraceMs;
  return { timeout, maxTotalTimeout: timeout, signal };
}
