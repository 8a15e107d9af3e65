/**
 * An answer of PostgreSQL as a server gives it whose messages are Czech: its word for an error has as many letters. The
 * word for what ends a connection is not the true one.
 */
export function inCzech(answer: Buffer): Buffer {
  return Buffer.from(answer.toString('latin1').replaceAll(/S(?:ERROR|FATAL)\0/g, 'SCHYBA\0'), 'latin1');
}
