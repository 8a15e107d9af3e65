import { type QueryKey, useQueryClient } from '@tanstack/react-query';
import createClient from 'openapi-fetch';
import type { paths } from '#api/openapi';
import { take } from '../../api/client';
import { queries } from '../../api/queries';
import { Value } from '../../session/value';

/** In this module's memory alone: whoever reloads the page signs in again. */
export const operatorToken = new Value<string | undefined>(undefined);

const withToken = (given: string | undefined) =>
  createClient<paths, 'application/json'>({
    baseUrl: location.origin,
    fetch: async (request) => {
      const used = given ?? operatorToken.get();
      if (used !== undefined) request.headers.set('authorization', `Bearer ${used}`);
      const response = await fetch(request);
      // The installation has another token since.
      if (response.status === 401 && given === undefined) endOperator();
      return response;
    },
  });

/** The API with the operator token. */
export const operatorApi = withToken(undefined);

/** Throws what the API says of a token that is wrong. */
export async function beginOperator(given: string): Promise<void> {
  await take(withToken(given).GET('/api/v1/operator/tenants', { params: { query: { limit: 1 } } }));
  operatorToken.set(given);
}

export function endOperator(): void {
  operatorToken.set(undefined);
  queries.removeQueries({ queryKey: operatorKey() });
}

/** The beginning of every key of these screens, which show no tenant's data as that of another. */
export const operatorKey = (...rest: readonly unknown[]): QueryKey => ['operator', ...rest];

export function useRefresh(...key: readonly unknown[]): () => Promise<void> {
  const client = useQueryClient();
  return () => client.invalidateQueries({ queryKey: operatorKey(...key) });
}
