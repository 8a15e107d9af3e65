import type { NodeDescription } from '../../../cluster/index.js';

/** The counters by name; ended activations are counted by reason. */
export function countsOf({ counts: { ended, ...counts } }: NodeDescription): Record<string, number> {
  const named = Object.entries({ ...counts }).map(([name, value]) => [snakeCase(name), value] as const);
  const reasons = Object.entries(ended).map(([reason, value]) => [`ended_${reason}`, value] as const);
  return Object.fromEntries([...named, ...reasons]);
}

function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
