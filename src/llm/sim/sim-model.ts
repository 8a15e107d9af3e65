/** `sim.echo`, `sim.lorem-<n>` and `sim.lorem-<n>-<delay_ms>`. */
export type SimModel =
  | { readonly kind: 'echo' }
  | { readonly kind: 'lorem'; readonly words: number; readonly delayMs: number };

/** The numbers are bounded only so that a name cannot hold a process for days. */
const loremName = /^lorem-(\d{1,6})(?:-(\d{1,5}))?$/;

export function parseSimModel(name: string): SimModel | undefined {
  if (name === 'echo') return { kind: 'echo' };
  const match = loremName.exec(name);
  if (match === null) return undefined;
  return { kind: 'lorem', words: Number(match[1]), delayMs: Number(match[2] ?? 0) };
}
