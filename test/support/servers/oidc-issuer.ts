// A real OIDC issuer on loopback: discovery, a key set that can be rotated, signed tokens.
import { hash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';

export interface OidcIssuer {
  readonly issuer: string;
  /** How often the key set was fetched. */
  readonly keyFetches: number;
  /** A false answer of discovery. */
  claimedIssuer: string | undefined;
  /** Answers 500 to everything. */
  broken: boolean;
  /** Before the paths of its keys and its exchange of codes; with another the paths answer 500. */
  place: string;
  /** The place that discovery names; undefined: the right one. */
  namedPlace: string | undefined;
  /** Signs the person of the address in at once when a browser asks; undefined: refuses. */
  person: string | undefined;
  rotate(): Promise<void>;
  token(claims: Readonly<Record<string, unknown>>, options?: TokenOptions): Promise<string>;
  close(): Promise<void>;
}

interface TokenOptions {
  readonly audience?: string;
  readonly expiresInSeconds?: number;
  readonly issuer?: string;
  /** The subject of the token; otherwise each address is a separate person. */
  readonly subject?: string;
}

export const oidcAudience = 'the-platform';

interface SigningKey {
  readonly id: string;
  readonly privateKey: CryptoKey;
  readonly publicKey: JWK;
}

export async function startOidcIssuer(): Promise<OidcIssuer> {
  const keys: SigningKey[] = [await makeKey(1)];
  const server = createServer((request, response) => answer(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The issuer listens on TCP');
  const issuer = `http://127.0.0.1:${address.port}`;
  let keyFetches = 0;

  /** The sign-ins of browsers, by code. */
  const codes = new Map<string, URLSearchParams>();

  function authorize(query: URLSearchParams, response: ServerResponse): void {
    const back = new URL(query.get('redirect_uri') ?? '');
    back.searchParams.set('state', query.get('state') ?? '');
    if (oidc.person === undefined) back.searchParams.set('error', 'access_denied');
    else {
      const code = String(1_000 + codes.size);
      codes.set(code, query);
      back.searchParams.set('code', code);
    }
    response.writeHead(302, { location: back.href }).end();
  }

  async function exchange(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const form = new URLSearchParams(await text(request));
    const asked = codes.get(form.get('code') ?? '');
    codes.delete(form.get('code') ?? '');
    const challenge = hash('sha256', form.get('code_verifier') ?? '', 'base64url');
    const isRight =
      asked?.get('code_challenge') === challenge &&
      asked.get('redirect_uri') === form.get('redirect_uri') &&
      asked.get('client_id') === form.get('client_id');
    response.writeHead(isRight ? 200 : 400, { 'content-type': 'application/json' });
    const identity = { email: oidc.person, email_verified: true, nonce: asked?.get('nonce') };
    const options = { audience: form.get('client_id') ?? '' };
    response.end(JSON.stringify(isRight ? { id_token: await oidc.token(identity, options) } : {}));
  }

  function answer(request: IncomingMessage, response: ServerResponse): void {
    const [path, query] = (request.url ?? '').split('?', 2);
    if (path === '/authorize') return authorize(new URLSearchParams(query), response);
    if (path === `${oidc.place}/token`) return void exchange(request, response);
    const bodies: Readonly<Record<string, () => object>> = {
      '/.well-known/openid-configuration': () => ({
        issuer: oidc.claimedIssuer ?? issuer,
        jwks_uri: `${issuer}${oidc.namedPlace ?? oidc.place}/keys`,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}${oidc.namedPlace ?? oidc.place}/token`,
      }),
      [`${oidc.place}/keys`]: () => {
        keyFetches += 1;
        return { keys: keys.map(({ publicKey }) => publicKey) };
      },
    };
    const body = oidc.broken ? undefined : bodies[request.url ?? ''];
    response.writeHead(body === undefined ? 500 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body?.() ?? {}));
  }

  const oidc: OidcIssuer = {
    issuer,
    get keyFetches() {
      return keyFetches;
    },
    claimedIssuer: undefined,
    broken: false,
    place: '',
    namedPlace: undefined,
    person: undefined,
    async rotate() {
      keys.splice(0, keys.length, await makeKey(keys.length + 1));
    },
    token(claims, options = {}) {
      const [key] = keys;
      if (key === undefined) throw new Error('The issuer has a key');
      const now = Math.floor(Date.now() / 1_000);
      return new SignJWT({ ...claims })
        .setProtectedHeader({ alg: 'RS256', kid: key.id })
        .setIssuer(options.issuer ?? issuer)
        .setAudience(options.audience ?? oidcAudience)
        .setSubject(options.subject ?? subjectOf(claims['email']))
        .setIssuedAt(now)
        .setExpirationTime(now + (options.expiresInSeconds ?? 600))
        .sign(key.privateKey);
    },
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
  return oidc;
}

function subjectOf(email: unknown): string {
  return typeof email === 'string' ? email.toLowerCase() : 'somebody';
}

async function makeKey(number: number): Promise<SigningKey> {
  const { privateKey, publicKey } = await generateKeyPair('RS256', { extractable: true });
  const id = `key-${number}-${Math.random()}`;
  return {
    id,
    privateKey,
    publicKey: { ...(await exportJWK(publicKey)), kid: id, alg: 'RS256', use: 'sig' },
  };
}
