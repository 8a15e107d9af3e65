import { useQuery } from '@tanstack/react-query';
import { api, take } from '../../api/client';
import { useKey } from '../../api/queries';
import { useAllowed } from '../../session/use-session';
import { FieldControl } from '../../ui/form/field-control';
import type { FieldSpec } from '../../ui/form/fields';
import { type Pairs, pairsOf, recordOf } from '../../ui/pairs-field';
import { settingAt } from './config';
import type { SettingField as Setting } from './fields';
import { useSecretNames } from '../../api/secret-names';
import { jsonOf, UnreadableJson } from '../../ui/unreadable-json';
import { useAsWritten } from '../../ui/use-as-written';
import type { Config } from './types';

interface SettingProps {
  readonly field: Setting;
  readonly config: Config;
  readonly problem: string | undefined;
  /** Undefined removes the setting, so that its default holds. */
  readonly onChange: (value: unknown) => void;
}

export function isShown({ when, notInChannels }: Setting, config: Config): boolean {
  if (notInChannels === true && settingAt(config, 'channel.type') !== undefined) return false;
  if (when === undefined) return true;
  const value = settingAt(config, when.path);
  return when.is.includes(value) || (when.is.includes('*') && typeof value === 'string' && value !== '');
}

/** One setting, as its kind says. */
export function SettingField({ field, config, problem, onChange }: SettingProps) {
  const value = settingAt(config, field.path);
  const secrets = useSecretNames();
  const databases = useDatabases(field.kind === 'database');
  const [raw, setRaw] = useAsWritten(value, {
    show: (setting) => rawOf(field, setting),
    read: (written) => settingOf(field, written),
  });
  const spec = specOf(field, value, secrets, databases);
  return (
    <FieldControl
      name={field.path}
      spec={spec}
      raws={{ [field.path]: raw }}
      problem={problem}
      onChange={(next) => {
        setRaw(next);
        onChange(settingOf(field, next));
      }}
    />
  );
}

type Options = readonly (readonly [value: string, text: string])[];

/** The setting as a field of a form. */
function specOf(field: Setting, value: unknown, secrets: readonly string[], databases: Options): FieldSpec {
  const { kind, label, hint, placeholder, required } = field;
  const common = {
    label,
    ...(hint !== undefined && { hint }),
    ...(placeholder !== undefined && { placeholder }),
    ...(required !== undefined && { required }),
  };
  if (kind === 'choice') return { ...common, kind, options: optionsWith(field, value) };
  if (kind === 'pairs') return { ...common, kind, values: 'Path' };
  if (kind === 'secret') {
    const where = hint ?? 'The name of a secret in the vault.';
    return { ...common, kind: 'text', hint: where, autoComplete: 'off', suggestions: secrets };
  }
  if (kind !== 'database') return { ...common, kind };
  const written = writtenOf(value);
  const isListed = written === '' || databases.some(([id]) => id === written);
  return {
    ...common,
    kind: 'choice',
    ...(databases.length === 0 && { hint: 'The tenant has no database yet; an owner connects one.' }),
    options: [['', 'Choose a database'], ...(isListed ? [] : [[written, written] as const]), ...databases],
  };
}

function rawOf({ kind }: Setting, value: unknown): unknown {
  if (kind === 'check') return value === true;
  if (kind === 'list') return Array.isArray(value) ? value.join(', ') : '';
  if (kind === 'pairs') return pairsOf((value ?? {}) as Config);
  if (kind === 'choice' || kind === 'database') return writtenOf(value);
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

/** What was written, as a value of the configuration. */
function settingOf({ kind }: Setting, raw: unknown): unknown {
  if (kind === 'check') return raw === true ? true : undefined;
  if (kind === 'pairs') return recordOf(raw as Pairs);
  const text = raw as string;
  if (text === '') return undefined;
  if (kind === 'choice') return readChoice(text);
  if (kind === 'list') return listOf(text);
  return kind === 'number' ? Number(text) : text;
}

const writtenOf = (value: unknown): string =>
  value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value);

/** A stored value that is a default stays selectable under its own name. */
function optionsWith({ options = [] }: Setting, value: unknown): readonly (readonly [string, string])[] {
  const written = writtenOf(value);
  return options.some(([one]) => one === written) ? options : [...options, [written, written]];
}

/** Booleans and lists are options too. A text of the configuration may begin as a list does. */
function readChoice(text: string): unknown {
  if (text !== 'false' && !text.startsWith('[')) return text;
  const value = jsonOf(text);
  return value instanceof UnreadableJson ? text : value;
}

function listOf(text: string): string[] | undefined {
  const items = text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
  return items.length === 0 ? undefined : items;
}

function useDatabases(isWanted: boolean): Options {
  const mayRead = useAllowed('databases:read');
  const { data } = useQuery({
    queryKey: useKey('databases', 'names'),
    queryFn: ({ signal }) => take(api.GET('/api/database-configs', { signal })),
    enabled: isWanted && mayRead,
  });
  return (data?.data ?? []).map(({ id, name }) => [id, name] as const);
}
