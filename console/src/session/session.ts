import { ConnectionError, refusalIn } from '@troupe/client';
import { storedText } from './stored-text';
import { Value } from './value';

/**
 * Who is signed in. The access token is in this module's memory alone; the refresh token is in a cookie that scripts do
 * not see. Sign-ins and sign-outs of one page are told to the other pages of the browser.
 */
export interface Tenant {
  readonly id: string;
  readonly name: string;
  readonly role: 'owner' | 'admin' | 'editor' | 'member';
  readonly plan: string;
}

export interface User {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly email_verified: boolean;
}

export interface Session {
  readonly user: User;
  readonly tenants: readonly Tenant[];
  /** The tenant on screen; undefined for a person without any. */
  readonly tenantId: string | undefined;
}

interface Answer {
  readonly user: User;
  readonly tenants: readonly Tenant[];
  readonly access_token: string;
  readonly expires_in: number;
}

export const session = new Value<Session | null>(null);
const lastTenant = storedText('troupe.tenant');
const pages = new BroadcastChannel('troupe.session');

const address = '/api/console/session';
const renewBeforeMs = 60_000;
/** All requests of the page wait for a renewal, and streams for a sign-out. */
const limitMs = 15_000;
/** The issuer of the code may take its time, and the code is used up by then. */
const signInLimitMs = 60_000;
let token: { readonly text: string; readonly expiresAtMs: number } | undefined;
let renewing: Promise<string | undefined> | undefined;

interface Sent {
  readonly body?: unknown;
  readonly limitMs: number;
}

async function send(method: string, path: string, { body, limitMs: most }: Sent): Promise<Answer | null> {
  let response: Response;
  let answer: { data?: Answer | null } | undefined;
  try {
    response = await fetch(path, {
      method,
      signal: AbortSignal.timeout(most),
      ...(body === undefined
        ? {}
        : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    });
    const read = response.json();
    // A refusal is one without its body too. An answer that breaks off does not say that nobody is signed in.
    answer = await (response.ok ? read : read.catch(() => undefined));
  } catch (cause) {
    throw new ConnectionError('The server could not be reached. Check the connection and try again.', {
      cause,
    });
  }
  if (!response.ok) throw refusalIn(response, answer, Date.now());
  return answer?.data ?? null;
}

function admit(answer: Answer): Session {
  token = { text: answer.access_token, expiresAtMs: Date.now() + answer.expires_in * 1_000 };
  const wanted = session.get()?.tenantId ?? lastTenant.read();
  const tenant = answer.tenants.find(({ id }) => id === wanted) ?? answer.tenants[0];
  const next = { user: answer.user, tenants: answer.tenants, tenantId: tenant?.id };
  session.set(next);
  return next;
}

function forget(): void {
  token = undefined;
  session.set(null);
}

/** Continues the sign-in of the cookie, if there is one. */
export async function restore(): Promise<Session | null> {
  const answer = await send('POST', `${address}/refresh`, { limitMs });
  if (answer !== null) return admit(answer);
  forget();
  return null;
}

/** With a password, with the refresh token that a registration answered, or with the code of the issuer. */
export async function signIn(
  by:
    | { readonly email: string; readonly password: string }
    | { readonly refresh_token: string }
    | { readonly code: string; readonly code_verifier: string; readonly nonce: string },
): Promise<Session> {
  const answer = await send('POST', address, { body: by, limitMs: signInLimitMs });
  if (answer === null) throw new Error('the sign-in has no answer');
  const signedIn = admit(answer);
  pages.postMessage('signed-in');
  return signedIn;
}

/** True from the moment a person signs out: open streams close first, so that none is cut off. */
export const signingOut = new Value(false);

export async function signOut(): Promise<void> {
  signingOut.set(true);
  try {
    await send('DELETE', address, { limitMs });
    forget();
  } finally {
    signingOut.set(false);
  }
  pages.postMessage('signed-out');
}

/** The sign-in ended without this page: on another device, or because the account was disabled. */
export function endedElsewhere(): void {
  if (session.get() !== null) forget();
}

/** The access token, renewed before it expires; undefined once the sign-in has ended. */
export async function accessToken({ renew = false } = {}): Promise<string | undefined> {
  if (!renew && token !== undefined && token.expiresAtMs - renewBeforeMs > Date.now()) return token.text;
  renewing ??= restore()
    .then(() => token?.text)
    .finally(() => (renewing = undefined));
  return renewing;
}

export function switchTenant(id: string): void {
  const present = session.get();
  if (present === null || present.tenantId === id) return;
  lastTenant.write(id);
  session.set({ ...present, tenantId: id });
}

/** Reads names, roles and tenants again, after this page changed them. */
export const reloadSession = restore;

pages.addEventListener('message', ({ data }) => {
  if (data === 'signed-out') forget();
  else if (session.get() === null) void restore().catch(() => undefined);
});
