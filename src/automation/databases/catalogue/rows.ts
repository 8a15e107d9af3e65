import { DatabaseError } from '../connection/database-error.js';
import type { TextRows } from '../connection/database-connection.js';

/** No name or type of PostgreSQL is longer. */
const lengthMax = 1_024;

/** The rows of a catalogue: as many columns as were asked for, and texts that can be kept. */
export function catalogueRows({ rows }: TextRows, columns: number): readonly (readonly string[])[] {
  return rows.map((row) => {
    const texts = row.map((value) => value ?? '');
    const odd = texts.some((text) => text.length > lengthMax || text.includes('\0') || !text.isWellFormed());
    if (texts.length !== columns || odd) {
      throw new DatabaseError('bad_answer', "the server's catalogue is not one of PostgreSQL");
    }
    return texts;
  });
}
