import type { Dialect } from '../operations/index.js';

interface Asked {
  readonly path: string;
  readonly anthropicVersion: string;
}

/** Whole segments of the path, most specific first. */
const byPath: readonly (readonly [string, Dialect])[] = [
  ['/v1/messages', 'anthropic'],
  ['/v1/complete', 'anthropic'],
  ['/v1/chat', 'openai'],
  ['/v1/completions', 'openai'],
  ['/v1/embeddings', 'openai'],
  ['/v1/responses', 'openai'],
  ['/api/telemetry', 'telemetry'],
  ['/api/keys', 'keys'],
];

/**
 * The form of an error for a request that has no operation: clients of the compatible interfaces read only their
 * vendor's. Paths that both vendors have are told apart by the header that every client of Anthropic's API sends.
 */
export function dialectOfPath({ path, anthropicVersion }: Asked): Dialect {
  const found = byPath.find(([prefix]) => isWithin(path, prefix));
  if (found !== undefined) return found[1];
  if (!isWithin(path, '/v1')) return 'general';
  return anthropicVersion === '' ? 'openai' : 'anthropic';
}

/** The form of an operation's error. `/v1/models` belongs to both vendors. */
export function dialectOf(dialect: Dialect, asked: Asked): Dialect {
  return dialect === 'openai' || dialect === 'anthropic' ? dialectOfPath(asked) : dialect;
}

function isWithin(path: string, prefix: string): boolean {
  return path === prefix || path.startsWith(`${prefix}/`);
}
