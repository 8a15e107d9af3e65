import type { Execution } from '../../triggers/config/execution-config.js';
import { fillJson, type Names } from '../../triggers/templates.js';
import { json, type Rendered } from './formats.js';

/** The immediate response of async mode: the trigger's configured one, else the given body. */
export function acknowledgement(
  { ack_response: configured }: Pick<Execution, 'ack_response'>,
  names: () => Names,
  otherwise: object,
): Rendered {
  if (configured === undefined) return json(otherwise, 202);
  const { content_type: contentType } = configured;
  if (configured.body === undefined)
    return { ...json(otherwise, 202), ...(contentType === undefined ? {} : { contentType }) };
  const body = fillJson(configured.body, names());
  // Text is sent as JSON only if its content type says so.
  if (typeof body === 'string' && !isJson(contentType)) {
    return { status: 202, contentType: contentType ?? 'text/plain; charset=utf-8', body };
  }
  if (typeof body === 'string' && typeof configured.body === 'string' && isJsonText(body)) {
    return { status: 202, contentType: contentType ?? 'application/json', body };
  }
  return { ...json(body, 202), ...(contentType === undefined ? {} : { contentType }) };
}

function isJson(contentType: string | undefined): boolean {
  return contentType !== undefined && /^application\/(?:[\w.+-]+\+)?json\b/i.test(contentType);
}

function isJsonText(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    // Not JSON by itself, so it is sent as a JSON string.
    return false;
  }
}
