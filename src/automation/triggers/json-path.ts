/**
 * The subset of JSONPath for context mappings: `$`, `.name`, `['name']` and `[n]`. Each path selects at most one value,
 * so no payload can make a mapping slow or large.
 */
export type PathSteps = readonly (string | number)[];

const step = /\.([\p{L}\p{N}_-]+)|\[(\d{1,9})\]|\['((?:[^'\\]|\\['\\])*)'\]/uy;
/** Earlier releases also took `["name"]`. */
const storedStep = new RegExp(`${step.source}|\\["((?:[^"\\\\]|\\\\["\\\\])*)"\\]`, 'uy');
const lengthMax = 500;
const stepsMax = 32;

/** Undefined for any other syntax. */
export function parseJsonPath(text: string): PathSteps | undefined {
  return stepsOf(text, step);
}

/** The path of a stored configuration. */
export function parseStoredPath(text: string): PathSteps | undefined {
  return stepsOf(text, storedStep);
}

function stepsOf(text: string, pattern: RegExp): PathSteps | undefined {
  if (!text.startsWith('$') || text.length > lengthMax) return undefined;
  const steps: (string | number)[] = [];
  let position = 1;
  while (position < text.length) {
    pattern.lastIndex = position;
    const match = pattern.exec(text);
    if (match === null || steps.length === stepsMax) return undefined;
    const [all, name, index, single, double] = match;
    steps.push(
      index === undefined ? (name ?? (single ?? double ?? '').replaceAll(/\\(.)/g, '$1')) : Number(index),
    );
    position += all.length;
  }
  return steps;
}

/** Undefined if the path selects nothing. */
export function followPath(steps: PathSteps, document: unknown): unknown {
  let value = document;
  for (const name of steps) {
    const fits = typeof name === 'number' ? Array.isArray(value) : isPlainObject(value);
    if (!fits || !Object.hasOwn(value as object, name)) return undefined;
    value = Reflect.get(value as object, name);
  }
  return value;
}

function isPlainObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
