/** JSON text that is the same for the same value: names are sorted, and what is undefined is left out. */
export function stableText(value: unknown): string {
  return JSON.stringify(value, (_name, item: unknown) => {
    if (typeof item !== 'object' || item === null || Array.isArray(item)) return item;
    return Object.fromEntries(Object.entries(item).toSorted(([one], [other]) => (one < other ? -1 : 1)));
  });
}
