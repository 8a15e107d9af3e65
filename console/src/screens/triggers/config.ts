import type { Config } from './types';

const isObject = (value: unknown): value is Config =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The setting at a path such as `execution.callback.url`. */
export function settingAt(config: Config, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>((place, name) => (isObject(place) ? place[name] : undefined), config);
}

/** The configuration with the setting at the path; undefined removes it, and what is empty without it. */
export function withSetting(config: Config, path: string, value: unknown): Config {
  const [name = '', ...rest] = path.split('.');
  const inner = config[name];
  const next = rest.length === 0 ? value : withSetting(isObject(inner) ? inner : {}, rest.join('.'), value);
  const isGone = next === undefined || (rest.length > 0 && Object.keys(next as Config).length === 0);
  const { [name]: _, ...others } = config;
  return isGone ? others : { ...config, [name]: next };
}

/** The merge patch that turns one configuration into the other: what is gone is null. */
export function configPatch(before: Config, after: Config): Record<string, unknown> {
  const names = Object.keys({ ...before, ...after });
  return Object.fromEntries(
    names.flatMap((name) => {
      const [old, next] = [before[name], after[name]];
      if (JSON.stringify(old) === JSON.stringify(next)) return [];
      return [[name, isObject(old) && isObject(next) ? configPatch(old, next) : (next ?? null)] as const];
    }),
  );
}
