import { readFileSync } from 'node:fs';
import { closestName } from '../closest-name.js';
import type { Setting } from './setting.js';
import { type Settings, settingTable } from './settings.js';

export type Environment = Readonly<Record<string, string | undefined>>;

/** All problems of the settings, worded for the operator. */
export class SettingsError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`Invalid settings:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`);
    this.name = 'SettingsError';
    this.problems = problems;
  }
}

export interface ReadOptions {
  /** Settings that this command cannot run without. */
  readonly required?: readonly (keyof Settings)[];
  /** Settings that another setting requires, each with the reason. */
  readonly requiredWith?: readonly {
    readonly setting: keyof Settings;
    readonly with: keyof Settings;
    readonly why: string;
  }[];
  /** Replace the general defaults of settings that the environment leaves out. */
  readonly defaults?: Partial<Record<keyof Settings, string>>;
}

/** Reads and checks all settings, so that one start shows all problems. */
export function readSettings(environment: Environment, options: ReadOptions = {}): Settings {
  const problems: string[] = [...mistypedNames(environment)];
  const values: Record<string, unknown> = {};
  for (const [name, entry] of entries()) {
    const fallback = options.defaults?.[name] ?? entry.fallback;
    try {
      const given = textOf(entry, environment) ?? fallback;
      if (given !== undefined) values[name] = entry.parse(given);
      else if (options.required?.includes(name)) throw new Error('is missing');
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      problems.push(
        `${entry.variable} ${reason} (${entry.meaning}). Example: ${entry.variable}=${entry.example}`,
      );
    }
  }
  for (const { setting: name, with: other, why } of options.requiredWith ?? []) {
    if (values[other] === undefined || values[name] !== undefined) continue;
    const entry = settingTable[name];
    problems.push(
      `${entry.variable} is missing; ${settingTable[other].variable} needs it: ${why}. Example: ${entry.variable}=${entry.example}`,
    );
  }
  if (problems.length > 0) throw new SettingsError(problems);
  return Object.freeze(values) as Settings;
}

/** One line per setting: variable, value or default, meaning. A secret shows only whether it is set. */
export function describeSettings(environment: Environment): readonly string[] {
  return entries().map(([, entry]) => {
    const given = environment[entry.variable] ?? environment[`${entry.variable}_FILE`];
    const shown = entry.secret && given !== undefined ? '(set)' : given;
    const value =
      shown ?? (entry.fallback === undefined || entry.fallback === '' ? '(unset)' : entry.fallback);
    return `${entry.variable}=${value}\n    ${entry.meaning}${entry.secret ? `; or set ${entry.variable}_FILE to a file that contains it` : ''}`;
  });
}

const prefix = 'TROUPE_';

/**
 * A mistyped setting would leave its default in force without a word. Names that are near no setting are not the
 * platform's: orchestrators add variables such as TROUPE_SERVICE_HOST by themselves.
 */
function mistypedNames(environment: Environment): readonly string[] {
  const known = new Set(
    entries()
      .flatMap(([, { variable, secret }]) => (secret ? [variable, `${variable}_FILE`] : [variable]))
      .filter((variable) => variable.startsWith(prefix))
      .map((variable) => variable.slice(prefix.length)),
  );
  return Object.keys(environment)
    .filter((name) => name.startsWith(prefix) && !known.has(name.slice(prefix.length)))
    .flatMap((name) => {
      // The common beginning would make short names near to each other, such as TROUPE_DIR to TROUPE_SIM.
      const closest = closestName(name.slice(prefix.length), known);
      return closest === undefined ? [] : [`${name} is not a setting. Did you mean ${prefix}${closest}?`];
    });
}

function entries(): readonly [keyof Settings, Setting<unknown>][] {
  return Object.entries(settingTable) as [keyof Settings, Setting<unknown>][];
}

/** An empty value counts as unset, except for TROUPE_EGRESS_ALLOW, where empty means no ranges. */
function textOf(entry: Setting<unknown>, environment: Environment): string | undefined {
  const direct = environment[entry.variable];
  const path = entry.secret ? environment[`${entry.variable}_FILE`] : undefined;
  if (direct !== undefined && direct !== '' && path !== undefined) {
    throw new Error(`is set twice, also by ${entry.variable}_FILE`);
  }
  if (path !== undefined) return fileText(path, entry.variable);
  if (direct === '' && entry.variable !== 'TROUPE_EGRESS_ALLOW') return undefined;
  return direct;
}

function fileText(path: string, variable: string): string {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch (cause) {
    throw new Error(`cannot be read from the file in ${variable}_FILE (${path})`, { cause });
  }
}
