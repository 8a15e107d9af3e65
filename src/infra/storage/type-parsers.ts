// How values of PostgreSQL become values of JavaScript.
import { types } from 'pg';
import type { CustomTypesConfig } from 'pg';

/**
 * Numbers that fit are numbers (counters, sums); a larger one is an error rather than a rounded figure.
 * `numeric` stays text. Dates without time stay text, because a `Date` would move them between zones.
 * `timestamptz` is a `Date`, as pg does by itself.
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
