import { invalidField } from '../../kernel/errors.js';

const headersMax = 64;
const valueLengthMax = 8_192;
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/;
const printable = /^[\t\u0020-\u007e\u0080-\u00ff]*$/;

/**
 * Headers that belong to the connection, and `Host`: with it a call to an allowed host could reach another one behind
 * the same address, and take a secret there.
 */
const ours = new Set([
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

/** Refuses headers that a tenant may not set or that HTTP cannot carry. Never quotes a value. */
export function checkHeaders(headers: Readonly<Record<string, string>>, field: string): void {
  const entries = Object.entries(headers);
  if (entries.length > headersMax) throw invalidField(field, `must not have more than ${headersMax} headers`);
  for (const [name, value] of entries) {
    if (!token.test(name)) throw invalidField(field, 'holds a name that is not one of a header');
    const at = `${field}.${name}`;
    const lower = name.toLowerCase();
    if (ours.has(lower) || lower.startsWith('proxy-')) throw invalidField(at, 'is set by the platform');
    if (value.length > valueLengthMax) throw invalidField(at, `is longer than ${valueLengthMax} characters`);
    if (!printable.test(value)) throw invalidField(at, 'holds characters that a header cannot carry');
  }
}
