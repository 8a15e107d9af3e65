export const isSame = (one: unknown, other: unknown): boolean =>
  JSON.stringify(one) === JSON.stringify(other);

export const isPlain = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;

/** `now`, but where `mine` differs from `base`, part by part, `mine` stays. */
export function rebased<Value>(mine: Value, base: Value, now: Value): Value {
  if (isSame(mine, base)) return now;
  if (!isPlain(mine) || !isPlain(base) || !isPlain(now)) return mine;
  const names = new Set([...Object.keys(now), ...Object.keys(mine)]);
  const parts = [...names]
    .map((name) => [name, rebased(mine[name], base[name], now[name])] as const)
    .filter(([, part]) => part !== undefined);
  return Object.fromEntries(parts) as Value;
}
