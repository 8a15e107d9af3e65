import { redactFlat } from './declared-context.js';
import { bytesOf, type FlatObject, invalid, readFlatObject } from './flat-object.js';
import type { IgnoredFields } from './ignored-fields.js';
import { isPrototypeName } from './names.js';

export const metadataLimits = { keysMax: 20, textCharactersMax: 256, bytesMax: 4 * 1024 } as const;
const keyPattern = /^[A-Za-z0-9_.-]{1,64}$/;

export interface Correlation {
  /** As it may be stored: secrets replaced. */
  readonly metadata: FlatObject;
  /** By which the execution is found again. */
  readonly traceId: string | undefined;
}

/** The limits are judged before secrets are replaced. */
export function readMetadata(value: unknown, ignored: IgnoredFields): Correlation {
  const metadata = readFlatObject('metadata', value, isPrototypeName, ignored);
  const entries = Object.entries(metadata);
  if (entries.length > metadataLimits.keysMax)
    throw invalid('metadata', `must have at most ${metadataLimits.keysMax} keys`);
  for (const [name, item] of entries) {
    if (!keyPattern.test(name))
      throw invalid('metadata', "keys must have 1 to 64 letters, digits, '_', '.' or '-'");
    if (typeof item === 'string' && item.length > metadataLimits.textCharactersMax)
      throw invalid(`metadata.${name}`, `must have at most ${metadataLimits.textCharactersMax} characters`);
  }
  if (bytesOf(metadata) > metadataLimits.bytesMax)
    throw invalid('metadata', `must have at most ${metadataLimits.bytesMax} bytes as JSON`);
  const stored = redactFlat(metadata);
  const traceId = metadata['trace_id'];
  // A value that was replaced names nothing: every such one would be equal.
  const named = traceId !== undefined && stored['trace_id'] === traceId;
  return { metadata: stored, traceId: named ? String(traceId) : undefined };
}
