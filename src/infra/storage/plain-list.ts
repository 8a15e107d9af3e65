/** An array for PostgreSQL of values that need no quotes; pg would check each value for some. */
export function plainList(values: readonly (string | number | boolean)[]): string {
  return `{${values.join(',')}}`;
}
