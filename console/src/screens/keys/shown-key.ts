import type { paths } from '#api/openapi';

export type ApiKey =
  paths['/api/keys']['get']['responses'][200]['content']['application/json']['data'][number];

/** As much of a key as can be shown after it was made: `svc_live_...a20`. */
export const shownKey = ({ prefix, suffix }: Pick<ApiKey, 'prefix' | 'suffix'>): string =>
  `${prefix}${suffix}`;
