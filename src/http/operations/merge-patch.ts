export type JsonObject = Readonly<Record<string, unknown>>;

/** JSON Merge Patch, RFC 7396: null removes, objects merge, everything else replaces. Changes neither argument. */
export function mergePatch(target: unknown, patch: JsonObject): JsonObject {
  const merged = new Map<string, unknown>(isJsonObject(target) ? Object.entries(target) : []);
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) merged.delete(name);
    // A name absent from the body keeps its value; schemas represent an absent name as `undefined`.
    else if (value !== undefined)
      merged.set(name, isJsonObject(value) ? mergePatch(merged.get(name), value) : value);
  }
  // The map prevents a name of the patch from reaching a prototype.
  return Object.fromEntries(merged);
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
