import type { paths } from '#api/openapi';

/** The tenant as the API keeps it. */
export type KeptTenant =
  paths['/api/tenants/{id}']['get']['responses'][200]['content']['application/json']['data'];
