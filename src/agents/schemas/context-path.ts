/**
 * The place in a tool's arguments that a value of the context replaces: `requesterId`, `filter.owner`,
 * `body[].requesterId` (in every item of the list).
 */
export interface PathStep {
  readonly name: string;
  /** The number of lists between this member and the next step. */
  readonly lists: number;
}

const step = /^([A-Za-z_$][A-Za-z0-9_$-]{0,127})((?:\[\])*)$/;
const stepsMax = 10;
const listsMax = 3;
const prototypeNames = new Set(['__proto__', 'constructor', 'prototype']);

/** Undefined if the text is not a valid path. */
export function parsePath(text: string): readonly PathStep[] | undefined {
  const texts = text.split('.');
  if (texts.length > stepsMax) return undefined;
  const steps: PathStep[] = [];
  for (const part of texts) {
    const [, name, brackets] = step.exec(part) ?? [];
    if (name === undefined || brackets === undefined) return undefined;
    if (prototypeNames.has(name) || brackets.length / 2 > listsMax) return undefined;
    steps.push({ name, lists: brackets.length / 2 });
  }
  return steps;
}
