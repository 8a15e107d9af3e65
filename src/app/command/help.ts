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
  return describedCommand(usage, summary, rows);
}

/** Usage, what the command does, and its options. */
export function describedCommand(
  usage: readonly string[],
  summary: string,
  options: readonly (readonly [word: string, about: string])[],
): string {
  const lines = options.length === 0 ? '' : `\n${columns(options)}\n`;
  return `Usage: troupe ${usageOf({ usage })}\n\n${wrapped(summary).join('\n')}\n${lines}`;
}

/** Terminals have 80 columns or more. */
const columnsMax = 80;

/** Two columns: a word, and what it means. */
export function columns(rows: readonly (readonly [word: string, about: string])[]): string {
  const width = rows.reduce((widest, [word]) => Math.max(widest, word.length), 0);
  const margin = `\n${' '.repeat(width + 4)}`;
  return rows
    .map(([word, about]) => `  ${word.padEnd(width)}  ${wrapped(about, width + 4).join(margin)}`)
    .join('\n');
}

/** Lines that fit behind a margin. A word that is longer has a line of its own. */
function wrapped(text: string, margin = 0): readonly string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(/\s+/)) {
    if (line !== '' && margin + line.length + 1 + word.length > columnsMax) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line];
}

/** The described options for `readArguments`, with the values of those that have one when they are left out. */
export function textOptions(
  { options }: Pick<CommandHelp, 'options'>,
  defaults: Readonly<Record<string, string | undefined>> = {},
): Readonly<Record<string, string | undefined>> {
  const none = Object.keys(options).map((name) => [name, undefined] as const);
  return { ...Object.fromEntries(none), ...defaults };
}
