/** A list for PostgreSQL of values that need no quotes: pg would look each of them over for some. */
export function plainList(values: readonly (string | number | boolean)[]): string {
  return `{${values.join(',')}}`;
}
