import { parseArgs } from 'node:util';
import { z } from 'zod';
import type { Environment } from '../../kernel/config/index.js';

export interface Command {
  readonly run: (rest: readonly string[], environment: Environment) => Promise<void>;
}

/** A failure in words for whoever typed the command. */
export class CommandError extends Error {
  readonly exitCode: number;

  constructor(message: string, options: { readonly exitCode?: number; readonly cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.name = 'CommandError';
    this.exitCode = options.exitCode ?? 1;
  }
}

export function wrongWords(message: string, usage: string): CommandError {
  return new CommandError(`${message}\nUsage: troupe ${usage}`, { exitCode: 2 });
}

export interface Words {
  readonly values: Readonly<Record<string, string | undefined>>;
  readonly positionals: readonly string[];
}

/** The words of a command, or the refusal that shows how it is called. Every option takes one text. */
export function readWords(
  rest: readonly string[],
  options: Readonly<Record<string, string | undefined>>,
  usage: string,
): Words {
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
    throw wrongWords(error instanceof Error ? error.message : String(error), usage);
  }
}

/** Whether the word could be the id of anything. */
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

/** The messages of an error and of all that caused it. */
export function reasonsOf(error: unknown): readonly string[] {
  const reasons: string[] = [];
  for (let one: unknown = error; one instanceof Error; one = one.cause) {
    if (one.message !== '') reasons.push(one.message);
  }
  return reasons.length === 0 ? [String(error)] : reasons;
}
