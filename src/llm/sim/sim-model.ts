/** `sim.echo`, `sim.lorem-<n>`, `sim.lorem-<n>-<delay_ms>`, `sim.tools` and `sim.tools-<delay_ms>`. */
export type SimModel =
  | { readonly kind: 'echo' }
  | { readonly kind: 'lorem'; readonly words: number; readonly delayMs: number }
  | { readonly kind: 'tools'; readonly delayMs: number };

/** The numbers are bounded only so that a name cannot hold a process for days. */
const loremName = /^lorem-(\d{1,6})(?:-(\d{1,5}))?$/;
const toolsName = /^tools(?:-(\d{1,5}))?$/;

export function parseSimModel(name: string): SimModel | undefined {
  if (name === 'echo') return { kind: 'echo' };
  const tools = toolsName.exec(name);
  if (tools !== null) return { kind: 'tools', delayMs: Number(tools[1] ?? 0) };
  const match = loremName.exec(name);
  if (match === null) return undefined;
  return { kind: 'lorem', words: Number(match[1]), delayMs: Number(match[2] ?? 0) };
}

/** The entry of the catalogue that describes models of this kind. */
export function simPattern({ kind }: SimModel): string {
  return kind === 'tools' ? 'sim.tools' : 'sim.echo';
}
