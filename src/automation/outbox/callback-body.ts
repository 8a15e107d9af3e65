import type { Callback } from '../triggers/config/execution-config.js';
import type { TurnFailure } from './delivery-content.js';
import { textOf } from '../../infra/expressions/index.js';
import { fillAddress, fillJson, type Names } from '../triggers/templates.js';

/** The names a callback template may use besides the mapped context. */
export interface ChunkNames {
  readonly agent_response: string;
  readonly session_id: string;
  readonly execution_id: string;
  readonly trigger_id: string;
  /** Starts at 1, as in `(1/3)`. */
  readonly chunk_index: number;
  readonly chunk_total: number;
}

export interface OutgoingRequest {
  readonly url: string;
  readonly method: 'POST' | 'PUT' | 'PATCH';
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const jsonType = 'application/json';

/** The request of one chunk, without credential and signature; undefined if its URL cannot be filled in. */
export function callbackRequest(
  callback: Callback,
  context: Names,
  chunk: ChunkNames,
  error?: TurnFailure,
): OutgoingRequest | undefined {
  // The platform's own names override the context: a sender must not choose an id.
  const names = { ...context, ...chunk };
  const url = fillAddress(callback.url, names);
  if (url === undefined || !URL.canParse(url)) return undefined;
  const contentType = callback.content_type ?? jsonType;
  const content =
    error === undefined
      ? callback.body_template === undefined
        ? { ...chunk }
        : fillJson(callback.body_template, names)
      : failureBody(error, chunk);
  return {
    url,
    method: callback.method,
    headers: { 'content-type': contentType },
    body: encoded(content, contentType),
  };
}

/** The same for every trigger: a template made for an answer has no place for an error. */
function failureBody(
  error: TurnFailure,
  { session_id, execution_id, trigger_id }: ChunkNames,
): Readonly<Record<string, unknown>> {
  return { agent_response: null, error, session_id, execution_id, trigger_id };
}

function encoded(content: unknown, contentType: string): string {
  const isForm = /^application\/x-www-form-urlencoded\b/i.test(contentType);
  if (!isForm || typeof content !== 'object' || content === null || Array.isArray(content)) {
    return JSON.stringify(content);
  }
  const form = new URLSearchParams();
  for (const [name, value] of Object.entries(content)) form.append(name, textOf(value));
  return form.toString();
}
