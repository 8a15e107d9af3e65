import type { paths } from '#api/openapi';

export type Secret =
  paths['/api/secrets']['get']['responses'][200]['content']['application/json']['data'][number];

export const kinds = {
  generic: 'Value',
  llm_key: 'Key of a model vendor',
  basic: 'User and password (basic)',
  bearer: 'Token (bearer)',
} as const satisfies Record<Secret['kind'], string>;

export const isKind = (text: string): text is Secret['kind'] => Object.hasOwn(kinds, text);
