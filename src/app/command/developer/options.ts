import { parseArgs } from 'node:util';
import { didYouMean } from '../../../kernel/closest-name.js';
import { usageError } from '../command.js';

export interface Option {
  /** `flag` takes no value, `list` may be given several times. */
  readonly kind: 'text' | 'flag' | 'list';
  readonly about: string;
  readonly short?: string;
}

export type Options = Readonly<Record<string, Option>>;

export interface Given {
  text(name: string): string | undefined;
  flag(name: string): boolean;
  list(name: string): readonly string[];
  readonly words: readonly string[];
}

/** Parses the words of a command; throws an error with the usage. */
export function readOptions(words: readonly string[], options: Options, usage: string): Given {
  const described = Object.fromEntries(
    Object.entries(options).map(([name, { kind, short }]) => [
      name,
      {
        type: kind === 'flag' ? ('boolean' as const) : ('string' as const),
        multiple: kind === 'list',
        ...(short === undefined ? {} : { short }),
      },
    ]),
  );
  const args = [...words];
  refuseUnknown(args, described, options, usage);
  try {
    const { values, positionals } = parseArgs({ args, options: described, allowPositionals: true });
    return {
      text: (name) => (typeof values[name] === 'string' ? values[name] : undefined),
      flag: (name) => values[name] === true,
      list: (name) => (Array.isArray(values[name]) ? values[name].map(String) : []),
      words: positionals,
    };
  } catch (error) {
    throw usageError(error instanceof Error ? error.message : String(error), usage);
  }
}

function refuseUnknown(
  args: string[],
  described: NonNullable<Parameters<typeof parseArgs>[0]>['options'] & object,
  options: Options,
  usage: string,
): void {
  const known = new Set([
    ...Object.keys(options),
    ...Object.values(options).flatMap(({ short }) => short ?? []),
  ]);
  const { tokens } = parseArgs({
    args,
    options: described,
    allowPositionals: true,
    strict: false,
    tokens: true,
  });
  for (const token of tokens) {
    if (token.kind !== 'option' || known.has(token.name)) continue;
    const names = Object.keys(options).map((name) => `--${name}`);
    throw usageError(`there is no option ${token.rawName}.${didYouMean(token.rawName, names)}`, usage);
  }
}

/** The options with their meanings, for `--help`. */
export function optionRows(options: Options): readonly (readonly [word: string, about: string])[] {
  return Object.entries(options).map(([name, { kind, short, about }]) => [
    `${short === undefined ? '' : `-${short}, `}--${name}${kind === 'flag' ? '' : ' …'}`,
    about,
  ]);
}
