import type { CallOptions } from './calls.js';
import { ConnectionError, refusalOf } from './errors.js';
import { readFrames } from './sse-reader.js';
import type { Transport } from './transport.js';
import type { TurnUsage } from './turn-events.js';

/** A piece of a model's answer; the last one has `done` and what the answer used. */
export interface CallEvent {
  readonly chunk: string;
  readonly done: boolean;
  readonly usage?: TurnUsage;
  readonly [name: string]: unknown;
}

/** One call of a model. It runs for its connection, so a lost one cannot be continued. */
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
      const event = JSON.parse(data) as CallEvent;
      yield event;
      if (event.done) return;
      // Pieces that arrived before the abort are still buffered; a reader that has left gets none of them.
      signal?.throwIfAborted();
    }
  } catch (cause) {
    signal?.throwIfAborted();
    throw new ConnectionError('The answer broke off.', { cause });
  }
  throw new ConnectionError('The answer broke off before its end.');
}
