/** What the value holds under the name itself, and never what it inherits: names come from tenants and senders. */
export function ownOf(holder: unknown, name: string): unknown {
  if (typeof holder !== 'object' || holder === null || !Object.hasOwn(holder, name)) return undefined;
  return (holder as Record<string, unknown>)[name];
}

/** A value as it stands in a text: what is not there as nothing, what is no text as JSON. */
export function textOf(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
