import { accepts } from '../../http/documents/index.js';
import { RawReply } from '../../http/operations/index.js';
import { codings, type PackedFile } from './files.js';

/** The file in the best coding that the browser accepts. */
export function fileReply(
  { contentType, bytes, packed }: PackedFile,
  accepted: string,
  own: Readonly<Record<string, string>>,
): RawReply {
  const headers = { ...own, Vary: 'Accept-Encoding' };
  for (const { name } of codings) {
    const body = packed.get(name);
    if (body !== undefined && accepts(accepted, name))
      return new RawReply(contentType, body, { headers: { ...headers, 'Content-Encoding': name } });
  }
  return new RawReply(contentType, bytes, { headers });
}
