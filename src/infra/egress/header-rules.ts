import { invalidField } from '../../kernel/errors.js';

const headersMax = 64;
const valueLengthMax = 8_192;
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/;
const printable = /^[\t\u0020-\u007e\u0080-\u00ff]*$/;

/**
 * Headers of the connection, and `Host`: with it, a call to an allowed host could reach another host behind the same
 * address and leak a secret to it.
 */
const reserved = new Set([
  'host',
  'connection',
  'content-length',
  'expect',
  'http2-settings',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** Refuses headers that a tenant may not set or that HTTP cannot carry. Messages never quote a value. */
export function checkHeaders(headers: Readonly<Record<string, string>>, field: string): void {
  const entries = Object.entries(headers);
  if (entries.length > headersMax) throw invalidField(field, `must not have more than ${headersMax} headers`);
  for (const [name, value] of entries) {
    if (!token.test(name)) throw invalidField(field, 'contains an invalid header name');
    const at = `${field}.${name}`;
    const lower = name.toLowerCase();
    if (reserved.has(lower) || lower.startsWith('proxy-')) throw invalidField(at, 'is set by the platform');
    if (value.length > valueLengthMax) throw invalidField(at, `is longer than ${valueLengthMax} characters`);
    if (!printable.test(value)) throw invalidField(at, 'contains characters that a header cannot carry');
  }
}
