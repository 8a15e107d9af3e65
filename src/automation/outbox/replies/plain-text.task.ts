// Runs in a child process: converts Markdown of any length to plain text.
import { plainText } from './plain-text.js';

export interface PlainTextInput {
  readonly [name: string]: string;
  readonly markdown: string;
}

export function run({ markdown }: PlainTextInput): string {
  return plainText(markdown);
}
