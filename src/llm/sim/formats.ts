/** The formats that strings of a JSON Schema can have: an example of each, and whether a text has it. */
import { type FormatName, fullFormats } from 'ajv-formats/dist/formats.js';

/** Longer texts have no format, so that no pattern is tried on a long text of a stranger. */
const lengthMax = 256;

const examples: Readonly<Partial<Record<FormatName, string>>> = {
  date: '2026-01-01',
  time: '12:00:00Z',
  'date-time': '2026-01-01T12:00:00Z',
  duration: 'PT1H',
  email: 'user@example.com',
  uri: 'https://example.com/',
  'uri-reference': '/',
  hostname: 'example.com',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  uuid: '00000000-0000-4000-8000-000000000000',
};

export type KnownFormat = keyof typeof examples;

export function isKnownFormat(format: unknown): format is KnownFormat {
  return typeof format === 'string' && Object.hasOwn(examples, format);
}

/** The text if it has the format, otherwise the example. */
export function inFormat(format: KnownFormat, text: string | undefined): string {
  return text !== undefined && fits(format, text) ? text : (examples[format] ?? '');
}

function fits(format: KnownFormat, text: string): boolean {
  if (text.length > lengthMax) return false;
  const definition = fullFormats[format];
  if (definition instanceof RegExp) return definition.test(text);
  const check = typeof definition === 'object' ? definition.validate : definition;
  if (check instanceof RegExp) return check.test(text);
  // The library's type joins checks of texts and of numbers; those of the formats above take texts.
  return typeof check === 'function' && Reflect.apply(check, undefined, [text]) === true;
}
