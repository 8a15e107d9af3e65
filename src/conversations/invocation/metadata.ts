import { invalidField } from '../../kernel/errors.js';
import { redactFlat } from './declared-context.js';
import { bytesOf, type FlatObject, readFlatObject } from './flat-object.js';
import type { IgnoredFields } from './ignored-fields.js';
import { isPrototypeName } from './names.js';

export const metadataLimits = { keysMax: 20, textCharactersMax: 256, bytesMax: 4 * 1024 } as const;
const keyPattern = /^[A-Za-z0-9_.-]{1,64}$/;

export interface Correlation {
  /** The form that may be stored: secrets redacted. */
  readonly metadata: FlatObject;
  /** A search term for the execution. */
  readonly traceId: string | undefined;
}

/** The limits apply before secrets are redacted. The default error is that of invocation. */
export function readMetadata(value: unknown, ignored: IgnoredFields): Correlation {
  const metadata = readFlatObject('metadata', value, isPrototypeName, ignored);
  const entries = Object.entries(metadata);
  if (entries.length > metadataLimits.keysMax)
    throw invalidField('metadata', `must have at most ${metadataLimits.keysMax} keys`);
  for (const [name, item] of entries) {
    if (!keyPattern.test(name))
      throw invalidField('metadata', "keys must have 1 to 64 letters, digits, '_', '.' or '-'");
    if (typeof item === 'string' && item.length > metadataLimits.textCharactersMax)
      throw invalidField(
        `metadata.${name}`,
        `must have at most ${metadataLimits.textCharactersMax} characters`,
      );
  }
  if (bytesOf(metadata) > metadataLimits.bytesMax)
    throw invalidField('metadata', `must have at most ${metadataLimits.bytesMax} bytes as JSON`);
  const stored = redactFlat(metadata);
  const traceId = metadata['trace_id'];
  // A redacted value identifies nothing, because all redacted values are equal.
  const named = traceId !== undefined && stored['trace_id'] === traceId;
  return { metadata: stored, traceId: named ? String(traceId) : undefined };
}
