/**
 * Whether a JSON value exceeds the depth, or the length as JSON. The walk stops as soon as it does: a value that contains
 * the same parts many times could be extremely long as text.
 */
export function exceeds(value: unknown, depthMax: number, charsMax = Number.POSITIVE_INFINITY): boolean {
  let chars = 0;
  const walk = (one: unknown, depth: number): boolean => {
    chars += typeof one === 'string' ? one.length + 2 : 1;
    if (chars > charsMax) return true;
    if (typeof one !== 'object' || one === null) return false;
    if (depth === 0) return true;
    if (Array.isArray(one)) return one.some((item) => walk(item, depth - 1));
    for (const name of Object.keys(one)) {
      chars += name.length + 3;
      if (walk(Reflect.get(one, name), depth - 1)) return true;
    }
    return false;
  };
  return walk(value, depthMax);
}
