import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../../../', import.meta.url));

export interface Program {
  readonly process: ChildProcess;
  /** Its output so far, both streams. */
  readonly output: () => string;
  /** The exit code, or the signal's name. */
  readonly ended: Promise<number | string>;
}

/** Runs one of the product's own programs as a user would, with a clean environment. */
export function runProgram(
  script: string,
  words: readonly string[],
  environment: Readonly<Record<string, string>>,
  tree = root,
): Program {
  return runCommand(process.execPath, [join(tree, script), ...words], environment, tree);
}

/** Runs any command in the project's folder, or in that of another version of it. */
export function runCommand(
  command: string,
  words: readonly string[],
  environment: Readonly<Record<string, string>>,
  tree = root,
): Program {
  const { PATH = '', HOME = '' } = process.env;
  const child = spawn(command, words, {
    cwd: tree,
    env: { PATH, HOME, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    // A character may come in two pieces.
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  }
  return {
    process: child,
    output: () => output,
    ended: once(child, 'close').then(([code, signal]) => (typeof code === 'number' ? code : String(signal))),
  };
}
