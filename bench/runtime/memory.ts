import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Row } from './measure.js';

/** In a process of its own: what other parts left in the heap would hide what the actors add to it. */
export function memoryOfIdleActors(): Promise<Row[]> {
  const program = fileURLToPath(new URL('memory-process.js', import.meta.url));
  const child = fork(program, { execArgv: ['--expose-gc'] });
  return new Promise((resolve, reject) => {
    child.once('message', (rows) => resolve(rows as Row[]));
    child.once('exit', (code) => reject(new Error(`the process ended with ${code}`)));
  });
}
