import type { ApiError } from './errors.js';

/** Text, or a function that answers the current text. */
export type Secret = string | (() => string | Promise<string>);

export interface Credentials {
  /** `svc_live_…`. For operations that need a signed-in user, the client exchanges it for a short token. */
  readonly apiKey?: Secret | undefined;
  /**
   * The access token of a signed-in user. A function may answer undefined while nobody is signed in. After the platform
   * refused a token, it is asked with `isRefused`; undefined then ends the request.
   */
  readonly accessToken?: string | AccessToken | undefined;
  /** The tenant of the requests of a user. */
  readonly tenantId?: string | (() => string | undefined) | undefined;
  readonly operatorToken?: Secret | undefined;
}

export type AccessToken = (asked: {
  readonly isRefused: boolean;
}) => string | undefined | Promise<string | undefined>;

/** What an operation accepts, from the document. */
export interface Accepts {
  readonly key: boolean;
  readonly user: boolean;
  readonly operator: boolean;
}

/** Asks the platform for a token that acts as the key. */
export type Exchange = (apiKey: string) => Promise<IssuedToken>;

export interface IssuedToken {
  readonly token: string;
  readonly expiresAtMs: number;
}

/** A token that ends within this time is replaced before it is sent. */
const reserveMs = 60_000;

export class CredentialHolder {
  readonly #credentials: Credentials;
  readonly #exchange: Exchange;
  readonly #nowMs: () => number;
  #renewed: { readonly token: string | undefined } | undefined;
  #issued: { readonly apiKey: string; readonly answer: Promise<IssuedToken> } | undefined;

  constructor(credentials: Credentials, exchange: Exchange, nowMs: () => number) {
    this.#credentials = credentials;
    this.#exchange = exchange;
    this.#nowMs = nowMs;
  }

  /** The headers for an operation. Empty if there is no fitting credential: the platform then says what it needs. */
  async headersFor(accepts: Accepts): Promise<Readonly<Record<string, string>>> {
    const { apiKey, accessToken, operatorToken, tenantId } = this.#credentials;
    if (accessToken !== undefined && accepts.user) {
      const token = await this.#userToken(accessToken);
      if (token === undefined) return {};
      const tenant = typeof tenantId === 'function' ? tenantId() : tenantId;
      const bearer = bearerOf(token);
      return tenant === undefined ? bearer : { ...bearer, 'x-tenant-id': tenant };
    }
    if (apiKey !== undefined && accepts.key) return { 'x-api-key': await textOf(apiKey) };
    if (apiKey !== undefined && accepts.user) return bearerOf(await this.#tokenOf(apiKey));
    if (operatorToken !== undefined && accepts.operator) return bearerOf(await textOf(operatorToken));
    return {};
  }

  /** For a token that was refused. True if there is another one, which may be accepted. */
  async dropToken(): Promise<boolean> {
    const { accessToken } = this.#credentials;
    if (typeof accessToken === 'function') {
      const token = await accessToken({ isRefused: true });
      this.#renewed = { token };
      return token !== undefined;
    }
    const had = this.#issued !== undefined;
    this.#issued = undefined;
    return had;
  }

  /** The token that replaces a refused one is not asked for twice. */
  async #userToken(accessToken: string | AccessToken): Promise<string | undefined> {
    if (typeof accessToken === 'string') return accessToken;
    const renewed = this.#renewed;
    this.#renewed = undefined;
    return renewed === undefined ? accessToken({ isRefused: false }) : renewed.token;
  }

  async #tokenOf(secret: Secret): Promise<string> {
    const apiKey = await textOf(secret);
    const issued = this.#issued?.apiKey === apiKey ? await this.#issued.answer : undefined;
    if (issued !== undefined && issued.expiresAtMs - reserveMs > this.#nowMs()) return issued.token;
    const asked = { apiKey, answer: this.#exchange(apiKey) };
    this.#issued = asked;
    // A failed exchange is asked again by the next request.
    asked.answer.catch(() => {
      if (this.#issued === asked) this.#issued = undefined;
    });
    return (await asked.answer).token;
  }
}

/** Whether a 401 speaks of the token, and not of a password in the request. */
export function isTokenRefusal({ status, code }: Pick<ApiError, 'status' | 'code'>): boolean {
  return status === 401 && /^(?:invalid_token|authentication_required|unauthorized)$/i.test(code);
}

function bearerOf(token: string): Readonly<Record<string, string>> {
  return { authorization: `Bearer ${token}` };
}

async function textOf(secret: Secret): Promise<string> {
  return typeof secret === 'function' ? secret() : secret;
}
