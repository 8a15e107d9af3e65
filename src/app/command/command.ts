import { parseArgs } from 'node:util';
import { z } from 'zod';
import type { Environment } from '../../kernel/config/index.js';

export interface Command {
  readonly run: (rest: readonly string[], environment: Environment) => Promise<void>;
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

export function unknownAction(action: string | undefined): string {
  return action === undefined ? 'an action is missing' : `there is no action ${action}`;
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

/** Whether the text has the form of an id. */
export function isId(word: string): boolean {
  return z.uuid().safeParse(word).success;
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
