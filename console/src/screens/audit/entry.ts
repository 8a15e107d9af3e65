import type { paths } from '#api/openapi';

export type Entry =
  paths['/api/v1/audit']['get']['responses'][200]['content']['application/json']['data'][number];
