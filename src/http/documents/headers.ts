import { type AnswerHeader, answerHeaders, type Operation } from '../operations/index.js';
import type { Json } from './schema-book.js';

const numbers: ReadonlySet<AnswerHeader> = new Set([
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'Retry-After',
]);
const everywhere: readonly AnswerHeader[] = [
  'X-Request-Id',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
];
const challenge = 'WWW-Authenticate';

/** `components.headers`. */
export function describedHeaders(): Json {
  const known = Object.entries(answerHeaders).map(([name, description]) => {
    const type = numbers.has(name as AnswerHeader) ? 'integer' : 'string';
    return [name, { description, schema: { type } }];
  });
  const description = 'Where a client can get a credential.';
  return { ...Object.fromEntries(known), [challenge]: { description, schema: { type: 'string' } } };
}

export function headersOfAnswer({ shown, idempotency }: Operation): Json {
  const replays = idempotency !== undefined && typeof idempotency !== 'object' && idempotency !== 'turn';
  const own: readonly AnswerHeader[] = shown.headers ?? [];
  return referencesTo([...everywhere, ...own, ...(replays ? (['Idempotent-Replayed'] as const) : [])]);
}

export function headersOfRefusal(status: number, { challenge: hasChallenge }: Operation): Json {
  const waits = status === 429 || status === 503;
  return referencesTo([
    ...everywhere,
    ...(waits ? ['Retry-After'] : []),
    ...(waits || status === 502 ? ['X-Should-Retry'] : []),
    ...(status === 401 && hasChallenge !== undefined ? [challenge] : []),
  ]);
}

function referencesTo(names: readonly string[]): Json {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}
