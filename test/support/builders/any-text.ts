import fc from 'fast-check';

const firstSurrogate = 0xd800;
const surrogates = 0x800;

const characters = fc.oneof(
  fc
    .integer({ min: 0, max: 0x10ffff - surrogates })
    .map((number) => String.fromCodePoint(number < firstSurrogate ? number : number + surrogates)),
  fc.integer({ min: 0, max: 0xff }).map((number) => String.fromCodePoint(number)),
  // Several characters that show as one.
  fc.constantFrom('e\u0301', '\u{1f468}\u200d\u{1f469}\u200d\u{1f467}', '\u{1f1e9}\u{1f1ea}', '\r\n'),
);

/**
 * Any text of Unicode, and often a plain one with names such as `__proto__`. fast-check's own texts of all characters take
 * a second of processor time in each process, for a table of 1.1 million characters.
 */
export function anyText({ minLength = 0, maxLength = 20 } = {}): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 2, arbitrary: fc.array(characters, { minLength, maxLength }).map((parts) => parts.join('')) },
    { weight: 1, arbitrary: fc.string({ minLength, maxLength }) },
  );
}
