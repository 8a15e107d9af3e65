import { decodeJwt } from 'jose';
import { z } from 'zod';
import { withinSignal } from '../../../cluster/index.js';
import { PlatformError } from '../../kernel/errors.js';
import { createOutsideIssuer, discoverEndpoints, type OutsideIssuerParts } from './outside-issuer.js';
import type { OutsideSignIn } from './outside-sign-in.js';

/**
 * The sign-in of browsers at the external issuer, by its authorization code with PKCE. The page keeps state, verifier and
 * nonce; this node exchanges the code, since only it holds the secret of the client.
 */
export interface OutsideClientSettings {
  readonly issuer: string;
  readonly clientId: string;
  /** Undefined for a public client, which PKCE alone protects. */
  readonly clientSecret: string | undefined;
}

/** What a page needs to send the person to the issuer. */
export interface OutsideWay {
  readonly authorization_endpoint: string;
  readonly client_id: string;
  readonly redirect_uri: string;
}

export interface OutsideCode {
  way(): Promise<OutsideWay>;
  /** The user whom the issuer names for the code. */
  userOf(answer: {
    readonly code: string;
    readonly verifier: string;
    readonly nonce: string;
  }): Promise<string>;
}

const requestTimeoutMs = 5_000;
const answerCharactersMax = 64 * 1024;
const tokens = z.object({ id_token: z.string().min(1).max(16_384) });

export function createOutsideCode(
  { issuer, clientId, clientSecret }: OutsideClientSettings,
  parts: OutsideIssuerParts & { readonly signIn: OutsideSignIn; readonly publicUrl: () => string },
): OutsideCode {
  const { signIn, time, publicUrl } = parts;
  // Tokens for this client alone: one for another client of the issuer must not sign in here.
  const verifier = createOutsideIssuer({ issuer, audience: clientId }, parts);
  const endpoints = discoverEndpoints(issuer, parts);
  const redirectUri = (): string => new URL('/sign-in/return', publicUrl()).href;

  async function idTokenFor(code: string, codeVerifier: string): Promise<string> {
    const { token_endpoint: address } = await endpoints.get();
    const late = (): Error => new Error(`${address} did not answer within ${requestTimeoutMs} ms`);
    return withinSignal(time, requestTimeoutMs, undefined, late, async (signal) => {
      const response = await fetch(address, {
        method: 'POST',
        redirect: 'error',
        signal,
        headers: { accept: 'application/json' },
        body: new URLSearchParams({
          grant_type: 'authorization_code',
          code,
          code_verifier: codeVerifier,
          redirect_uri: redirectUri(),
          client_id: clientId,
          ...(clientSecret !== undefined && { client_secret: clientSecret }),
        }),
      });
      const text = await response.text();
      if (!response.ok || text.length > answerCharactersMax)
        throw refused(new Error(`${address} answered ${response.status}`));
      return tokens.parse(JSON.parse(text)).id_token;
    });
  }

  return {
    async way() {
      const { authorization_endpoint } = await endpoints.get();
      return { authorization_endpoint, client_id: clientId, redirect_uri: redirectUri() };
    },
    async userOf({ code, verifier: codeVerifier, nonce }) {
      const idToken = await idTokenFor(code, codeVerifier).catch((cause: unknown) => {
        // For the next sign-in: the issuer may have moved its endpoints.
        void endpoints.renew().catch(() => undefined);
        throw cause instanceof PlatformError ? cause : refused(cause);
      });
      const { userId } = await signIn(idToken, verifier);
      // The signature is checked by now. Another nonce belongs to the sign-in of another browser.
      if (decodeJwt(idToken)['nonce'] !== nonce) throw refused();
      return userId;
    },
  };
}

function refused(cause?: unknown): PlatformError {
  return new PlatformError('invalid_token', {
    message: 'The issuer did not confirm this sign-in. Start it again.',
    cause,
  });
}
