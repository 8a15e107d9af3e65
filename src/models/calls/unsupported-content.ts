import { PlatformError } from '../../kernel/errors.js';
import type { FilePart, ImagePart } from '../../llm/index.js';

const nameCharsMax = 100;

/** `model` is `auto` if no model that the service may choose takes the part. */
export function unsupportedContent(model: string, part: ImagePart | FilePart): PlatformError {
  const { field = 'messages', source } = part;
  const mediaType = source.kind === 'url' ? undefined : source.mediaType;
  const name = part.type === 'file' ? part.name?.slice(0, nameCharsMax) : undefined;
  const kind = part.type === 'image' ? 'images' : `files of the type ${mediaType ?? 'of an address'}`;
  const who = model === 'auto' ? 'No model that is available for this request' : `The model ${model}`;
  const verb = model === 'auto' ? 'accepts' : 'does not accept';
  const shown = name === undefined ? field : `${field} (${name})`;
  return new PlatformError('unsupported_content', {
    message: `${who} ${verb} ${kind}, such as ${shown}. Leave the part out, or choose a model with the capability ${part.type === 'image' ? 'vision' : 'documents'}.`,
    details: {
      field,
      issue: 'is of a kind that the model does not accept',
      model,
      part: { type: part.type, media_type: mediaType ?? null, name: name ?? null },
    },
  });
}
