import { useQuery } from '@tanstack/react-query';
import type { paths } from '#api/openapi';
import { api, take } from '../../api/client';
import { useKey } from '../../api/queries';
import { useAllowed } from '../../session/use-session';

export type Database =
  paths['/api/database-configs/{id}']['get']['responses'][200]['content']['application/json']['data'];
export type DatabaseRow =
  paths['/api/database-configs']['get']['responses'][200]['content']['application/json']['data'][number];
export type Schema = NonNullable<Database['schema']>;
export type Table = Schema['tables'][number];

export function useDatabase(id: string) {
  return useQuery({
    queryKey: useKey('databases', id),
    queryFn: ({ signal }) =>
      take(api.GET('/api/database-configs/{id}', { params: { path: { id } }, signal })),
  });
}

export interface DatabaseUse {
  readonly id: string;
  readonly name: string;
  readonly enabled: boolean;
}

/** The triggers that read the database; undefined while they are not known. */
export function useUses(id: string) {
  return useQuery({
    queryKey: useKey('triggers', 'of databases'),
    queryFn: ({ signal }) => take(api.GET('/api/triggers', { signal })),
    enabled: useAllowed('triggers:read'),
    select: ({ data }): readonly DatabaseUse[] =>
      data
        .filter(({ trigger_config: config }) => Reflect.get(config, 'database_config_id') === id)
        .map(({ id: triggerId, name, enabled }) => ({ id: triggerId, name, enabled })),
  });
}
