// Converts values of PostgreSQL to values of JavaScript.
import { types } from 'pg';
import type { CustomTypesConfig } from 'pg';

/**
 * Integers that fit become numbers (counters, sums); a larger one is an error instead of a rounded figure. `numeric` and
 * dates without time stay text, because a `Date` would move them between time zones. `timestamptz` becomes a `Date`, as
 * by default in pg.
 */
export const pgTypes: CustomTypesConfig = {
  getTypeParser: (oid, format) => {
    if (oid === types.builtins.INT8 && format !== 'binary') return parseInt8;
    if (oid === types.builtins.DATE && format !== 'binary') return (value: string) => value;
    return types.getTypeParser(oid, format);
  },
};

function parseInt8(value: string): number {
  const parsed = Number(value);
  if (!Number.isSafeInteger(parsed)) throw new RangeError('An int8 is too large to be read as a number');
  return parsed;
}
