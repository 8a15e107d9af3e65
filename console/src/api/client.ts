import createClient from 'openapi-fetch';
import type { paths } from '#api/openapi';
import { accessToken, endedElsewhere, type Session, session } from '../session/session';
import { type ApiError, apiErrorOf, isRefusedToken } from './errors';

/**
 * The one place where the console talks to the API. Each request names the tenant on screen and carries the access token.
 * A token that was refused is renewed once; if that fails too, the sign-in has ended.
 */
export const api = createClient<paths, 'application/json'>({
  baseUrl: location.origin,
  fetch: authorizedFetch,
});

/** For operations that require the tenant by name; all others get it from `authorizedFetch`. */
export function tenantHeader(): { readonly 'x-tenant-id': string } {
  return { 'x-tenant-id': session.get()?.tenantId ?? '' };
}

export async function authorizedFetch(input: Request): Promise<Response> {
  const signedIn = session.get();
  if (signedIn === null) return fetch(input);
  const again = input.clone();
  const first = await fetch(withCredential(input, await accessToken(), signedIn));
  if (first.status !== 401 || !(await isRefusedToken(first))) return first;
  const token = await accessToken({ renew: true });
  if (token === undefined) {
    endedElsewhere();
    return first;
  }
  return fetch(withCredential(again, token, signedIn));
}

function withCredential(request: Request, token: string | undefined, { tenantId }: Session): Request {
  const { headers } = request;
  if (token !== undefined && !headers.has('authorization')) headers.set('authorization', `Bearer ${token}`);
  if (tenantId !== undefined && !headers.has('x-tenant-id')) headers.set('x-tenant-id', tenantId);
  return request;
}

/** The answer of a call; throws an `ApiError` where the API refused it. */
export async function take<Data>(
  call: Promise<{ data?: Data; error?: unknown; response: Response }>,
): Promise<Data> {
  const { data, error, response } = await call.catch((cause: unknown): never => {
    throw unreachable(cause);
  });
  if (!response.ok) throw apiErrorOf(response, error);
  return data as Data;
}

function unreachable(cause: unknown): unknown {
  if (cause instanceof DOMException && cause.name === 'AbortError') return cause;
  return apiErrorOf(undefined, undefined, cause);
}

export type { ApiError };
