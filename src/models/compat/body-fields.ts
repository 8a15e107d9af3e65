import { closestName } from '../../kernel/closest-name.js';
import { invalidField, PlatformError } from '../../kernel/errors.js';
import { isJsonObject } from '../../http/operations/index.js';

/** What an interface does with the fields of a body. */
export interface FieldRules {
  readonly known: readonly string[];
  /** Without effect here, and harmless to leave out. */
  readonly ignored: readonly string[];
  /** Fields of the vendor's interface that are refused, and why. */
  readonly refused?: Readonly<Record<string, string>>;
}

/**
 * Refuses a field that would have an effect elsewhere and has none here, by its name. Returns the given fields that are
 * ignored. A field that is null or undefined is not given.
 */
export function ignoredFields(body: unknown, rules: FieldRules): readonly string[] {
  if (!isJsonObject(body)) throw invalidField('body', 'must be a JSON object');
  const ignored: string[] = [];
  for (const [name, value] of Object.entries(body)) {
    if (rules.known.includes(name) || value === null || value === undefined) continue;
    if (rules.ignored.includes(name)) ignored.push(name);
    else throw refused(name, rules);
  }
  return ignored;
}

function refused(name: string, { known, refused: reasons = {} }: FieldRules): PlatformError {
  const shown = name.slice(0, 100);
  const reason = Object.hasOwn(reasons, name) ? reasons[name] : undefined;
  if (reason !== undefined) return invalidField(shown, reason);
  const meant = closestName(name, known);
  const hint = meant === undefined ? '' : ` Did you mean ${meant}?`;
  return new PlatformError('unknown_field', {
    message: `${shown}: is not supported here.${hint}`,
    details: { field: shown, issue: 'not supported' },
  });
}

/** Tells the caller which of its fields had no effect. */
export function ignoredHeader(names: readonly string[]): Readonly<Record<string, string>> {
  return names.length === 0 ? {} : { 'X-Troupe-Ignored': names.join(', ') };
}
