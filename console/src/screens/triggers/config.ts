import { isPlain } from '../../ui/form/rebased';
import type { Config } from './types';

/** The setting at a path such as `execution.callback.url`. */
export function settingAt(config: Config, path: string): unknown {
  return path.split('.').reduce<unknown>((place, name) => (isPlain(place) ? place[name] : undefined), config);
}

/** The configuration with the setting at the path; undefined removes it, and what is empty without it. */
export function withSetting(config: Config, path: string, value: unknown): Config {
  const [name = '', ...rest] = path.split('.');
  const inner = config[name];
  const next = rest.length === 0 ? value : withSetting(isPlain(inner) ? inner : {}, rest.join('.'), value);
  const isGone = next === undefined || (rest.length > 0 && Object.keys(next as Config).length === 0);
  const { [name]: _, ...others } = config;
  return isGone ? others : { ...config, [name]: next };
}
