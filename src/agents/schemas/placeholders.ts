/**
 * `${args.x}`, `${context.x}` and `${secret.name}` in the texts of a tool. They are filled in once: a value that
 * was inserted is never searched for placeholders again.
 */
export type PlaceholderKind = 'args' | 'context' | 'secret';

export interface Placeholder {
  readonly kind: PlaceholderKind;
  /** A dotted path for arguments, one name for the others. */
  readonly name: string;
}

const pattern = /\$\{([^{}]*)\}/g;
const content = /^(args|context|secret)\.([A-Za-z0-9_.-]{1,128})$/;

/** The parts of a text in order: literal text and placeholders. */
export function partsOf(text: string): readonly (string | Placeholder)[] {
  const parts: (string | Placeholder)[] = [];
  let end = 0;
  for (const match of text.matchAll(pattern)) {
    const placeholder = placeholderOf(match[1] ?? '');
    if (placeholder === undefined) continue;
    if (match.index > end) parts.push(text.slice(end, match.index));
    parts.push(placeholder);
    end = match.index + match[0].length;
  }
  if (end < text.length) parts.push(text.slice(end));
  return parts;
}

/** The first unknown `${…}`. Without this check a misspelt placeholder would be sent as it is. */
export function unknownPlaceholder(text: string): string | undefined {
  for (const match of text.matchAll(pattern)) {
    if (placeholderOf(match[1] ?? '') === undefined) return match[0];
  }
  return undefined;
}

function placeholderOf(inside: string): Placeholder | undefined {
  const [, kind, name] = content.exec(inside) ?? [];
  if (kind === undefined || name === undefined) return undefined;
  if (kind === 'args' && name.split('.').includes('')) return undefined;
  return { kind: kind as PlaceholderKind, name };
}

/** Every text in a JSON value, including names of members. */
export function textsOf(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  if (Array.isArray(value)) return value.flatMap(textsOf);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, item]) => [name, ...textsOf(item)]);
}

export function placeholdersIn(value: unknown): readonly Placeholder[] {
  return textsOf(value).flatMap((text) => partsOf(text).filter((part) => typeof part !== 'string'));
}
