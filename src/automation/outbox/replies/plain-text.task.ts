// Loaded by child processes: Markdown of any length as plain text.
import { plainText } from './plain-text.js';

export interface PlainTextInput {
  readonly [name: string]: string;
  readonly markdown: string;
}

export function run({ markdown }: PlainTextInput): string {
  return plainText(markdown);
}
