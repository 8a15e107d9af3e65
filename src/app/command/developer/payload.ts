import { readFile, stat } from 'node:fs/promises';
import { CommandError } from '../command.js';
import { allOfInput } from './login.js';

const fileBytesMax = 20 * 1024 * 1024;

/** The words after `--data`: text, `@` and a file, or `-`. */
export async function dataOf(word: string): Promise<string> {
  if (word === '-') return allOfInput();
  if (!word.startsWith('@')) return word;
  const path = word.slice(1);
  try {
    const { size } = await stat(path);
    if (size > fileBytesMax) throw new CommandError(`${path} has ${size} bytes; at most 20 MB are sent.`);
    return await readFile(path, 'utf8');
  } catch (cause) {
    if (cause instanceof CommandError) throw cause;
    throw new CommandError(`${path} cannot be read`, { cause });
  }
}

export async function payloadOf(word: string): Promise<unknown> {
  const text = await dataOf(word);
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw new CommandError('--data is no JSON', { exitCode: 2, cause });
  }
}
