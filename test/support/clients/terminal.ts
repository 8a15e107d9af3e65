// `troupe` with streams that pass for a terminal: what is typed is written to its standard input.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { ExecutionContext } from 'ava';
import { eventually } from '../clocks/eventually.js';

const bound = { timeoutMs: 60_000 };
const terminal =
  'for (const one of [process.stdin, process.stdout, process.stderr]) one.isTTY = true;' +
  'process.stdin.setRawMode = () => process.stdin;';

export const ctrlC = '\u0003';
const ctrlD = '\u0004';

export function atTerminal(
  t: ExecutionContext,
  words: readonly string[],
  environment: Readonly<Record<string, string>>,
) {
  const { PATH = '', HOME = '' } = process.env;
  const child = spawn(
    process.execPath,
    ['--import', `data:text/javascript,${terminal}`, 'bin/troupe.mjs', ...words],
    { env: { PATH, HOME, NO_COLOR: '1', ...environment } },
  );
  t.teardown(() => void child.kill('SIGKILL'));
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  return {
    type: (text: string) => void child.stdin.write(text),
    /** Ctrl-D. A pipe that stays open keeps a process, unlike a terminal. */
    endInput: () => void child.stdin.end(ctrlD),
    shows: (text: string) => eventually(() => output.includes(text), { ...bound, what: text }),
    output: () => output,
    ended: once(child, 'close').then(([code]) => code as number | null),
  };
}
