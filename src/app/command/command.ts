import { parseArgs } from 'node:util';
import { didYouMean } from '../../kernel/closest-name.js';
import { isUuid } from '../../kernel/uuid.js';
import type { Environment } from '../../kernel/config/index.js';

export interface Command {
  readonly run: (rest: readonly string[], environment: Environment) => Promise<void>;
  /** What `--help` prints, unless the list of commands has it. */
  readonly help?: string;
  /** The names of its options, and its first words, for completion. */
  readonly options?: readonly string[];
  readonly actions?: readonly string[];
}

/** A failure with a message for the person who ran the command. */
export class CommandError extends Error {
  readonly exitCode: number;

  constructor(message: string, options: { readonly exitCode?: number; readonly cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.name = 'CommandError';
    this.exitCode = options.exitCode ?? 1;
  }
}

export function usageError(message: string, usage: string): CommandError {
  return new CommandError(`${message}\nUsage: troupe ${usage}`, { exitCode: 2 });
}

/** Says which of the command's actions the word is not. */
export function unknownAction(action: string | undefined, known: readonly string[]): string {
  return action === undefined
    ? `an action is missing: ${known.join(', ')}`
    : `there is no action ${action}.${didYouMean(action, known)}`;
}

/** The word if it is one of the choices; otherwise throws an error with the usage. */
export function choiceOf<Choice extends string>(
  word: string,
  {
    what,
    choices,
    usage,
  }: { readonly what: string; readonly choices: readonly Choice[]; readonly usage: string },
): Choice {
  const choice = choices.find((one) => one === word);
  if (choice !== undefined) return choice;
  const meant = didYouMean(word, choices) || ` Choose one of ${choices.join(', ')}.`;
  throw usageError(`there is no ${what} ${word}.${meant}`, usage);
}

export interface Arguments {
  readonly values: Readonly<Record<string, string | undefined>>;
  readonly positionals: readonly string[];
}

/** Parses the arguments of a command; throws an error with the usage. Every option takes one text. */
export function readArguments(
  rest: readonly string[],
  options: Readonly<Record<string, string | undefined>>,
  usage: string,
): Arguments {
  const described = Object.fromEntries(
    Object.entries(options).map(([name, fallback]) => [
      name,
      fallback === undefined ? { type: 'string' as const } : { type: 'string' as const, default: fallback },
    ]),
  );
  refuseUnknownOptions(rest, described, usage);
  try {
    const { values, positionals } = parseArgs({
      args: [...rest],
      options: described,
      allowPositionals: true,
    });
    return {
      values: Object.fromEntries(Object.entries(values).map(([name, value]) => [name, String(value)])),
      positionals,
    };
  } catch (error) {
    throw usageError(error instanceof Error ? error.message : String(error), usage);
  }
}

/** Refuses any argument: for commands that take their settings from the environment alone. */
export function refuseArguments(rest: readonly string[], usage: string): void {
  const { positionals } = readArguments(rest, {}, usage);
  if (positionals.length > 0)
    throw usageError(`${positionals.join(' ')} is not expected: settings come from the environment`, usage);
}

function refuseUnknownOptions(
  rest: readonly string[],
  options: Readonly<Record<string, { readonly type: 'string' }>>,
  usage: string,
): void {
  const { tokens } = parseArgs({
    args: [...rest],
    options,
    allowPositionals: true,
    strict: false,
    tokens: true,
  });
  for (const token of tokens) {
    if (token.kind !== 'option' || Object.hasOwn(options, token.name)) continue;
    const known = Object.keys(options).map((name) => `--${name}`);
    throw usageError(`there is no option ${token.rawName}.${didYouMean(token.rawName, known)}`, usage);
  }
}

/** Whether the text has the form of an id. */
export function isId(word: string): boolean {
  return isUuid(word);
}

/** Aligned columns for a terminal. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    rows.reduce((widest, row) => Math.max(widest, row[column]?.length ?? 0), 0),
  );
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** The messages of an error and of its chain of causes. */
export function reasonsOf(error: unknown): readonly string[] {
  const reasons: string[] = [];
  for (let one: unknown = error; one instanceof Error; one = one.cause) {
    if (one.message !== '') reasons.push(one.message);
  }
  return reasons.length === 0 ? [String(error)] : reasons;
}
