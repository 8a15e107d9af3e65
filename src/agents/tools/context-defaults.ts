import type { JsonObject } from '../../http/operations/index.js';
import { charsOf, FillBudget } from './fill-budget.js';
import { parsePath, type PathStep } from '../schemas/context-path.js';

type Members = Record<string, unknown>;

/**
 * Puts values of the context in their places in the arguments, whatever the model wrote there. `missing` receives
 * the names that the context does not hold; the model's value stays in those places.
 */
export function withContextDefaults(
  args: JsonObject,
  defaults: Readonly<Record<string, string>>,
  context: JsonObject,
): { readonly args: JsonObject; readonly missing: readonly string[] } {
  const filled = structuredClone(args) as Members;
  const missing: string[] = [];
  const budget = new FillBudget();
  for (const [path, name] of Object.entries(defaults)) {
    const value = Object.hasOwn(context, name) ? context[name] : undefined;
    const steps = parsePath(path);
    if (value === undefined || value === null || steps === undefined) missing.push(name);
    else put(filled, steps, { value, budget });
  }
  return { args: filled, missing };
}

interface Given {
  readonly value: unknown;
  readonly budget: FillBudget;
}

function put(holder: Members, [step, ...rest]: readonly PathStep[], given: Given): void {
  if (step === undefined) return;
  const present = Object.hasOwn(holder, step.name) ? holder[step.name] : undefined;
  if (rest.length === 0) {
    holder[step.name] = step.lists === 0 ? taken(given) : replaceItems(present, step.lists, given);
  } else if (step.lists === 0) {
    const inner = isMembers(present) ? present : {};
    holder[step.name] = inner;
    put(inner, rest, given);
  } else {
    holder[step.name] = fillItems(present, step.lists, rest, given);
  }
}

/**
 * `body[].id`: every item holds the value, and a missing list becomes a list of one, since every call takes the value.
 * A model must not evade it by an empty list, by one object or nested lists in place of a list, or by items that are
 * no objects.
 */
function fillItems(present: unknown, lists: number, rest: readonly PathStep[], given: Given): unknown {
  if (Array.isArray(present) && present.length > 0) {
    return present.map((item: unknown) => fillItems(item, lists - 1, rest, given));
  }
  if (lists > 0 && !isMembers(present)) return [fillItems(undefined, lists - 1, rest, given)];
  const item = isMembers(present) ? present : {};
  put(item, rest, given);
  return item;
}

/** `ids[]` as the last step: every item becomes the value, and a missing list becomes a list of one. */
function replaceItems(present: unknown, lists: number, given: Given): unknown {
  if (lists === 0) return taken(given);
  if (!Array.isArray(present) || present.length === 0) return [replaceItems(undefined, lists - 1, given)];
  return present.map((item: unknown) => replaceItems(item, lists - 1, given));
}

/** Each place holds the same value, and each adds the value's length when the arguments are sent. */
function taken({ value, budget }: Given): unknown {
  budget.take(charsOf(value));
  return value;
}

function isMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
