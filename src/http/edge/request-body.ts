import { PlatformError } from '../../kernel/errors.js';
import { type Operation, parseJson, refuseLongText } from '../operations/index.js';
import type { RequestHead } from './exchange.js';

export function bodyOf(operation: Operation, bytes: Uint8Array, { contentType }: RequestHead): unknown {
  if (operation.bodyRules.form === 'raw') return bytes;
  if (bytes.byteLength === 0) return {};
  if (contentType !== '' && !/^application\/(?:[\w.+-]+\+)?json\b/i.test(contentType)) {
    throw new PlatformError('unsupported_media_type', {
      message: `The body must be application/json, not ${contentType.slice(0, 100)}.`,
    });
  }
  // Bodies that are too deep or too large were refused while they arrived.
  const { prototypeNames, textBytesMax } = operation.bodyRules;
  const body = parseJson(bytes, { prototypeNames, isCounted: true });
  if (textBytesMax !== undefined) refuseLongText(bytes, body, textBytesMax);
  return body;
}
