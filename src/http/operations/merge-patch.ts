export type JsonObject = Readonly<Record<string, unknown>>;

/** JSON Merge Patch, RFC 7396: null removes, objects merge, everything else replaces. Neither argument is changed. */
export function mergePatch(target: unknown, patch: JsonObject): JsonObject {
  const merged = new Map<string, unknown>(isJsonObject(target) ? Object.entries(target) : []);
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) merged.delete(name);
    // A name that is left out of the body stays; `undefined` is how a schema says so.
    else if (value !== undefined)
      merged.set(name, isJsonObject(value) ? mergePatch(merged.get(name), value) : value);
  }
  // By way of a map, so that no name of the patch can reach a prototype.
  return Object.fromEntries(merged);
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
