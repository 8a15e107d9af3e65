import { cutText } from '../intake/mapped-context.js';
import type { ResponseFormat, ResponseTransform } from '../config/webhook-config.js';
import { plainText } from './plain-text.js';

/** What a trigger's format asks for where it says nothing itself. */
export function derivedTransform(format: ResponseFormat): ResponseTransform {
  return format === 'twiml' ? { strip_markdown: true, max_length: 4_096 } : { strip_markdown: false };
}

export function transformed(text: string, { strip_markdown, max_length }: ResponseTransform): string {
  const plain = strip_markdown ? plainText(text) : text;
  return max_length === undefined ? plain : cutText(plain, max_length);
}
