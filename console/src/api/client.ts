import { ConnectionError, createClient, refusalIn } from '@troupe/client';
import { accessToken, endedElsewhere, session } from '../session/session';

/**
 * The one place where the console talks to the API. Each request names the tenant on screen and carries the access token.
 * A token that was refused is renewed once; if that fails too, the sign-in has ended. Repeats are left to the queries,
 * which show what they wait for.
 */
export const troupe = createClient({
  baseUrl: location.origin,
  retries: 0,
  tenantId: () => session.get()?.tenantId,
  accessToken: async ({ isRefused }) => {
    if (session.get() === null) return undefined;
    const token = await accessToken({ renew: isRefused });
    if (token === undefined) endedElsewhere();
    return token;
  },
});

/** Every operation by path. */
export const { api } = troupe;

/** For operations that require the tenant by name; all others get it from the client. */
export function tenantHeader(): { readonly 'x-tenant-id': string } {
  return { 'x-tenant-id': session.get()?.tenantId ?? '' };
}

/** The answer of a call; throws an `ApiError` where the API refused it, a `ConnectionError` where none came. */
export async function take<Data>(
  call: Promise<{ data?: Data; error?: unknown; response: Response }>,
): Promise<Data> {
  const { data, error, response } = await call.catch((cause: unknown): never => {
    throw cause instanceof ConnectionError ? unreachable(cause) : cause;
  });
  if (!response.ok) throw refusalIn(response, error, Date.now());
  return data as Data;
}

export function unreachable(cause: unknown): ConnectionError {
  return new ConnectionError('The server could not be reached. Check the connection and try again.', {
    cause,
  });
}
