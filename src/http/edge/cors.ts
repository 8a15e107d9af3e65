import { answerHeaders, type Method } from '../operations/index.js';

/** Answers browsers of other origins: those that the operator listed, and those of a public key. */
export class CrossOrigin {
  readonly #origins: ReadonlySet<string>;

  constructor(origins: readonly string[]) {
    this.#origins = new Set(origins);
  }

  allows(origin: string): boolean {
    return origin !== '' && this.#origins.has(origin);
  }

  /** Headers of every answer to a listed origin. */
  headers(origin: string): readonly (readonly [string, string])[] {
    return this.allows(origin) ? this.granted(origin) : [];
  }

  /** The same for an origin that the caller's public key allows. */
  granted(origin: string): readonly (readonly [string, string])[] {
    return [
      ['Access-Control-Allow-Origin', origin],
      ['Access-Control-Expose-Headers', exposed],
      ['Vary', 'Origin'],
    ];
  }

  preflight(
    origin: string,
    methods: readonly Method[],
    requestedHeaders: string,
  ): readonly (readonly [string, string])[] {
    return [
      ['Access-Control-Allow-Origin', origin],
      ['Access-Control-Allow-Methods', methods.join(', ')],
      [
        'Access-Control-Allow-Headers',
        /^[\w ,-]{1,1000}$/.test(requestedHeaders) ? requestedHeaders : allowed,
      ],
      ['Access-Control-Max-Age', '600'],
      ['Vary', 'Origin'],
    ];
  }
}

const allowed =
  'authorization, content-type, idempotency-key, last-event-id, x-api-key, x-request-id, x-tenant-id';
/** What clients of MCP in a browser read: where to sign in, and the name of their session. */
const ofMcp = ['WWW-Authenticate', 'Mcp-Session-Id'];
const exposed = [...Object.keys(answerHeaders), ...ofMcp].join(', ').toLowerCase();
