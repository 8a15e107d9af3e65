/** What a command says about itself. It loads nothing, so that `--help` and completions come at once. */
export interface CommandHelp {
  /** Its forms, without `troupe`. */
  readonly usage: readonly string[];
  readonly summary: string;
  readonly actions?: readonly string[];
  /** `value` names what the option takes; without it, the option is a flag. */
  readonly options: Readonly<Record<string, { readonly value?: string; readonly about: string }>>;
}

/** The forms of a command, for an error of its words. */
export function usageOf({ usage }: Pick<CommandHelp, 'usage'>): string {
  return usage.join('\n       troupe ');
}

export function helpText({ usage, summary, options }: CommandHelp): string {
  const rows = Object.entries(options).map(
    ([name, { value, about }]) => [`--${name}${value === undefined ? '' : ` ${value}`}`, about] as const,
  );
  const lines = rows.length === 0 ? '' : `\n${columns(rows)}\n`;
  return `Usage: troupe ${usageOf({ usage })}\n\n${summary}\n${lines}`;
}

/** Lines of two columns: a word, and what it means. */
export function columns(rows: readonly (readonly [word: string, about: string])[]): string {
  const width = rows.reduce((widest, [word]) => Math.max(widest, word.length), 0);
  return rows.map(([word, about]) => `  ${word.padEnd(width)}  ${about}`).join('\n');
}

/** The described options for `readArguments`, with the values of those that have one when they are left out. */
export function textOptions(
  { options }: Pick<CommandHelp, 'options'>,
  defaults: Readonly<Record<string, string | undefined>> = {},
): Readonly<Record<string, string | undefined>> {
  const none = Object.keys(options).map((name) => [name, undefined] as const);
  return { ...Object.fromEntries(none), ...defaults };
}
