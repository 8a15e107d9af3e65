import type { paths } from '#api/openapi';

type Listed = paths['/api/v1/sessions/{id}/messages']['get']['responses'][200]['content']['application/json'];

/** One message of a transcript. */
export type Message = Listed['data'][number];
