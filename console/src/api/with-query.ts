type Value = string | number | boolean | undefined;

/** The path with the parameters that have a value. */
export function withQuery<Query extends { readonly [Name in keyof Query]: Value }>(
  path: string,
  query: Query,
): string {
  const given = Object.entries<Value>(query).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)]],
  );
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given)}`;
}
