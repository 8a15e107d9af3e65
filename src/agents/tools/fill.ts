import { ownOf, textOf } from '../../infra/expressions/index.js';
import type { JsonObject } from '../../http/operations/index.js';
import { charsOf, type FillBudget } from './fill-budget.js';
import { partsOf, type Placeholder } from '../schemas/placeholders.js';

/** The sources of placeholder values. */
export interface Sources {
  readonly args: JsonObject;
  /** The context merged with the bindings. */
  readonly context: JsonObject;
  /** The values of all secrets that the tool names. */
  readonly secrets: ReadonlyMap<string, string>;
  /** Called with each name that the context does not hold. */
  readonly missing: (name: string) => void;
  /** Shared by the whole request. */
  readonly budget: FillBudget;
}

/** The value of one placeholder; undefined if it is missing. */
function lookUp({ kind, name }: Placeholder, sources: Sources): unknown {
  if (kind === 'secret') return sources.secrets.get(name);
  if (kind === 'context') {
    const value = ownOf(sources.context, name);
    if (value === undefined || value === null) sources.missing(name);
    return value;
  }
  return name.split('.').reduce<unknown>(ownOf, sources.args);
}

/** A missing value becomes empty text. */
export function fillText(
  template: string,
  sources: Sources,
  encode: (text: string) => string = (text) => text,
): string {
  return partsOf(template)
    .map((part) => {
      if (typeof part === 'string') return part;
      const text = encode(textOf(lookUp(part, sources)));
      sources.budget.take(text.length);
      return text;
    })
    .join('');
}

/** A text that consists of one placeholder becomes its value, of whatever type; undefined if it is missing. */
export function fillValue(template: unknown, sources: Sources): unknown {
  if (typeof template !== 'string') return template;
  const [first, ...others] = partsOf(template);
  if (first !== undefined && typeof first !== 'string' && others.length === 0) {
    const value = lookUp(first, sources);
    sources.budget.take(charsOf(value));
    return value;
  }
  return fillText(template, sources);
}

/** Arguments keep their type. Members whose value is missing are left out; in lists they are null. */
export function fillJson(template: unknown, sources: Sources): unknown {
  if (Array.isArray(template)) return template.map((item) => fillJson(item, sources) ?? null);
  if (typeof template !== 'object' || template === null) return fillValue(template, sources);
  const members = Object.entries(template).flatMap(([name, item]) => {
    const value = fillJson(item, sources);
    return value === undefined ? [] : [[fillText(name, sources), value] as const];
  });
  return Object.fromEntries(members);
}
