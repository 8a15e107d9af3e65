import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Row } from './measure.js';

/** Runs in its own process, so that heap left by other parts does not distort the result. */
export function memoryOfIdleActors(): Promise<Row[]> {
  const program = fileURLToPath(new URL('memory-process.js', import.meta.url));
  const child = fork(program, { execArgv: ['--expose-gc'] });
  return new Promise((resolve, reject) => {
    child.once('message', (rows) => resolve(rows as Row[]));
    child.once('exit', (code) => reject(new Error(`the memory process exited with code ${code}`)));
  });
}
