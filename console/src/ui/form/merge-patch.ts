import { isPlain, isSame } from './rebased';

/**
 * The merge patch that turns one object into the other: what is gone is null, and only what changed is in it, so that two
 * people who write different fields do not undo each other.
 */
export function mergePatch(before: object, after: object): Record<string, unknown> {
  const [from, to] = [before, after] as readonly Readonly<Record<string, unknown>>[];
  const names = Object.keys({ ...before, ...after });
  return Object.fromEntries(
    names.flatMap((name) => {
      const [old, next] = [from?.[name], to?.[name]];
      if (isSame(old, next)) return [];
      if (!isPlain(old) || !isPlain(next)) return [[name, next ?? null] as const];
      const inner = mergePatch(old, next);
      // The same fields in another order are no change.
      return Object.keys(inner).length === 0 ? [] : [[name, inner] as const];
    }),
  );
}
