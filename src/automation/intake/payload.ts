import { invalidField, PlatformError } from '../../kernel/errors.js';
import { parseJson, refuseUnstorable } from '../../http/operations/index.js';

/**
 * Parses a webhook body by its content type: JSON, a form as a flat object, or plain text. An empty body is the empty
 * text whatever its type; as `{}` it would be sent to the agent as a question.
 */
export function payloadOf(contentType: string, body: Uint8Array): unknown {
  if (body.byteLength === 0) return '';
  const type = (contentType.split(';', 1)[0] ?? '').trim().toLowerCase();
  if (type === '') return withoutType(body);
  if (/^application\/(?:[\w.+-]+\+)?json$/.test(type)) return json(body);
  if (type === 'application/x-www-form-urlencoded') return formFields(body);
  if (type.startsWith('text/') || /^application\/(?:[\w.+-]+\+)?xml$/.test(type)) return storableText(body);
  throw new PlatformError('unsupported_media_type', {
    message: `The body must be JSON, a form or text, not ${type.slice(0, 100)}. Set Content-Type to the type of the body.`,
  });
}

/** Channels send a few dozen fields. A megabyte of `&a` would be half a million, each parsed, checked and sorted. */
const formFieldsMax = 1_000;

export function formOf(body: Uint8Array): URLSearchParams {
  let fields = 1;
  for (const byte of body) if (byte === ampersand) fields += 1;
  if (fields > formFieldsMax) {
    throw invalidField('body', `has more than ${formFieldsMax} form fields`);
  }
  return new URLSearchParams(textOf(body));
}

const ampersand = '&'.charCodeAt(0);

function json(body: Uint8Array): unknown {
  return parseJson(body, { prototypeNames: 'refuse' });
}

/** Senders that give no content type mostly send JSON. */
function withoutType(body: Uint8Array): unknown {
  return /^\s*[[{]/.test(textOf(body)) ? json(body) : storableText(body);
}

function textOf(body: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch (cause) {
    throw new PlatformError('malformed_body', {
      message: 'The body is not valid UTF-8.',
      details: { field: 'body', issue: 'is not UTF-8' },
      cause,
    });
  }
}

function formFields(body: Uint8Array): Readonly<Record<string, string>> {
  const form = formOf(body);
  for (const [name, value] of form) {
    refuseUnstorable(name, 'a field name');
    refuseUnstorable(value, name);
  }
  return Object.fromEntries(form);
}

function storableText(body: Uint8Array): string {
  const text = textOf(body);
  refuseUnstorable(text, 'body');
  return text;
}
