import type { CallOptions } from './calls.js';
import { ApiError, ConnectionError, refusalIn, refusalOf } from './errors.js';
import type { components } from './generated/openapi.js';
import { readFrames } from './sse-reader.js';
import type { Transport } from './transport.js';

type Schemas = components['schemas'];

/** A piece of a model's answer; the last one has `done` and what the answer used. */
export interface CallEvent extends Readonly<Partial<Omit<Schemas['CallEnd'], 'chunk' | 'done'>>> {
  readonly chunk: string;
  readonly done: boolean;
  readonly [name: string]: unknown;
}

/**
 * One call of a model. It runs for its connection, so a lost one cannot be continued. A call that fails after its first
 * piece rejects after its pieces, with the status of the head that was sent before: 200.
 */
export async function* callStream(
  transport: Transport,
  input: Readonly<Record<string, unknown>>,
  { signal, idempotencyKey, retries, timeoutMs, headers }: CallOptions,
): AsyncGenerator<CallEvent, void, undefined> {
  const response = await transport.send({
    method: 'POST',
    path: transport.hasUser ? '/api/v3/llm/call' : '/api/v3/llm/public/call',
    headers: new Headers({
      ...headers,
      'content-type': 'application/json',
      ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
    }),
    body: new TextEncoder().encode(JSON.stringify({ ...input, stream: true })),
    accepts: { key: true, user: true, operator: false },
    signal,
    retries,
    timeoutMs,
  });
  if (!response.ok) throw await refusalOf(response, transport.surroundings.nowMs());
  if (response.body === null) throw new ConnectionError('The answer has no body.');
  try {
    for await (const { data } of readFrames(response.body)) {
      if (data === undefined) continue;
      const event = JSON.parse(data) as Schemas['CallChunk'];
      if ('error' in event) throw refusalIn(response, event, transport.surroundings.nowMs());
      yield event;
      if (event.done) return;
      // Pieces that arrived before the abort are still buffered; a reader that has left gets none of them.
      signal?.throwIfAborted();
    }
  } catch (cause) {
    signal?.throwIfAborted();
    if (cause instanceof ApiError) throw cause;
    throw new ConnectionError('The answer broke off.', { cause });
  }
  throw new ConnectionError('The answer broke off before its end.');
}
