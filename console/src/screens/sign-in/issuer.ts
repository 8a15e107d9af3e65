import { signIn } from '../../session/session';

/**
 * The sign-in at the issuer: the browser leaves with a challenge and comes back with a code, which the node exchanges. What
 * belongs to the sign-in waits in the storage of this tab, and is used once.
 */
interface Waiting {
  readonly state: string;
  readonly verifier: string;
  readonly nonce: string;
  readonly next: string | undefined;
}

export interface IssuerWay {
  readonly authorization_endpoint: string;
  readonly client_id: string;
  readonly redirect_uri: string;
}

const place = 'troupe.issuer';

const base64Url = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
const chance = (): string => base64Url(crypto.getRandomValues(new Uint8Array(32)));

/** Browsers hash only for pages that came over https, or from this machine. */
export const canUseIssuer = globalThis.isSecureContext;

export async function goToIssuer(way: IssuerWay, next: string | undefined): Promise<void> {
  const waiting: Waiting = { state: chance(), verifier: chance(), nonce: chance(), next };
  sessionStorage.setItem(place, JSON.stringify(waiting));
  const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(waiting.verifier));
  const address = new URL(way.authorization_endpoint);
  const query = {
    response_type: 'code',
    scope: 'openid email profile',
    client_id: way.client_id,
    redirect_uri: way.redirect_uri,
    state: waiting.state,
    nonce: waiting.nonce,
    code_challenge: base64Url(new Uint8Array(hash)),
    code_challenge_method: 'S256',
  };
  for (const [name, value] of Object.entries(query)) address.searchParams.set(name, value);
  location.assign(address);
}

/** Returns where to go on. Throws where the issuer refused, or the answer belongs to no sign-in of this tab. */
export async function comeBack(answer: {
  readonly code?: string | undefined;
  readonly state?: string | undefined;
  readonly error?: string | undefined;
}): Promise<string> {
  const text = sessionStorage.getItem(place);
  sessionStorage.removeItem(place);
  const waiting = text === null ? undefined : (JSON.parse(text) as Waiting);
  if (answer.error !== undefined) throw new Error(`The issuer refused the sign-in: ${answer.error}.`);
  if (waiting === undefined || answer.code === undefined || answer.state !== waiting.state)
    throw new Error('This answer belongs to no sign-in of this tab. Start the sign-in again.');
  const { verifier, nonce, next } = waiting;
  await signIn({ code: answer.code, code_verifier: verifier, nonce });
  return next ?? '/';
}
