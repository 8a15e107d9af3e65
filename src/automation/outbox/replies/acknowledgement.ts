import type { Execution } from '../../triggers/config/execution-config.js';
import { fillJson, type Names } from '../../triggers/templates.js';
import { json, type Rendered } from './formats.js';

/** The immediate answer of async mode: what the trigger says, or else the given body. */
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
  // A text that is meant as JSON says so by its content type.
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
    // No JSON by itself, so it is sent as a JSON text.
    return false;
  }
}
