/** The names of what usage is grouped by. */
import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { UsageGroup } from '../usage/index.js';

type NamesOf = (scope: TenantScope, ids: readonly string[]) => Promise<ReadonlyMap<string, string>>;

export interface Names {
  readonly agent: NamesOf;
  readonly key: NamesOf;
  readonly user: NamesOf;
}

/** An id without a name belongs to something that was deleted; an attempt without an id has none of that kind. */
export async function labelsOf(
  names: Names,
  scope: TenantScope,
  group: UsageGroup,
  keys: readonly string[],
): Promise<(key: string) => string> {
  if (group !== 'agent' && group !== 'key' && group !== 'user') return (key) => key;
  const known = await names[group](
    scope,
    keys.filter((key) => key !== ''),
  );
  return (key) => (key === '' ? `no ${group}` : (known.get(key) ?? `deleted ${group}`));
}
