import type { FilePart, ImagePart, TextPart } from '../../llm/index.js';
import { isImageType, isTextType, utf8Of } from './media-types.js';
import type { ReadPart } from './read-parts.js';

/** The form that models take: pictures and documents as they are, text files as text. */
export function userPartOf({
  mediaType,
  name,
  bytes,
  field,
}: Omit<ReadPart, 'type' | 'field'> & { readonly field?: string }): ImagePart | FilePart | TextPart {
  const place = field === undefined ? {} : { field };
  if (isTextType(mediaType)) {
    const text = utf8Of(bytes);
    if (text !== undefined) return { type: 'text', text: fileText(name, text) };
  }
  const source = { kind: 'base64', mediaType, data: bytes.toString('base64') } as const;
  if (isImageType(mediaType)) return { type: 'image', source, ...place };
  return { type: 'file', source, ...(name === undefined ? {} : { name }), ...place };
}

function fileText(name: string | undefined, text: string): string {
  const label = name === undefined ? '' : ` name=${JSON.stringify(name)}`;
  return `<file${label}>\n${text}\n</file>`;
}
