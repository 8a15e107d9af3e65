import { invalidField } from '../../kernel/errors.js';

/** An argument as text: parameters of a path and of a query are text. */
export function argumentText(name: string, value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  throw invalidField(name, 'must be a text, a number or a boolean');
}

/** The named arguments that are given, as a query. */
export function queryOf(
  args: Readonly<Record<string, unknown>>,
  names: readonly string[],
): Readonly<Record<string, string>> {
  const given = names.filter((name) => args[name] !== undefined);
  return Object.fromEntries(given.map((name) => [name, argumentText(name, args[name])]));
}
