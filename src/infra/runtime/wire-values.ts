import { PlatformError } from '../../kernel/errors.js';

/**
 * A message of another node that this node cannot read: a part is missing, or has a value that this version does not
 * know. During a rolling upgrade another node may do what this one cannot, so the caller may try again.
 */
export class UnreadableMessage extends PlatformError {
  constructor(field: string, problem: string) {
    super('service_unavailable', {
      message:
        `The message of another node cannot be read: ${field} ${problem}. ` +
        'If the nodes run different versions, try again when the upgrade has finished.',
      retryAfterSeconds: 1,
    });
    this.name = 'UnreadableMessage';
  }
}

/** The two spellings of a closed set of values: words in this program, numbers in messages. */
export interface WireEnum<Word extends string, Value extends number> {
  toWire(word: Word): Value;
  /** Refuses the unspecified value and those of later versions. */
  fromWire(value: Value): Word;
}

/** The field is named in refusals, as `Message.field`. */
export function wireEnum<Word extends string, Value extends number>(
  field: string,
  values: Readonly<Record<Word, Value>>,
): WireEnum<Word, Value> {
  const words = new Map<number, Word>();
  for (const word in values) words.set(values[word], word);
  return {
    toWire: (word) => values[word],
    fromWire(value) {
      const word = words.get(value);
      if (word !== undefined) return word;
      throw new UnreadableMessage(field, value === 0 ? 'is not specified' : `has the unknown value ${value}`);
    },
  };
}

/** A part that every version sends. */
export function requiredPart<Part>(field: string, part: Part | undefined): Part {
  if (part === undefined) throw new UnreadableMessage(field, 'is missing');
  return part;
}
