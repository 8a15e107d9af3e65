import { useQuery } from '@tanstack/react-query';
import { useId } from 'react';
import { api, take } from '../../api/client';
import { useKey } from '../../api/queries';
import { useAllowed } from '../../session/use-session';
import { CheckField } from '../../ui/check-field';
import { SelectField, TextArea, TextField } from '../../ui/field';
import { PairsField, pairsOf, recordOf } from '../../ui/pairs-field';
import { settingAt } from './config';
import type { SettingField as Setting } from './fields';
import { useSecretNames } from '../../api/secret-names';
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
  const { label, hint, placeholder, required } = field;
  const common = { label, hint, problem, placeholder, required };
  const text = typeof value === 'string' || typeof value === 'number' ? String(value) : '';
  switch (field.kind) {
    case 'check':
      return (
        <CheckField
          label={label}
          hint={hint}
          checked={value === true}
          onChange={({ target }) => onChange(target.checked ? true : undefined)}
        />
      );
    case 'choice':
      return (
        <SelectField
          {...{ label, hint, problem }}
          options={optionsWith(field, value)}
          value={writtenOf(value)}
          onChange={({ target }) => onChange(readChoice(target.value))}
        />
      );
    case 'area':
      return (
        <TextArea {...common} value={text} onChange={({ target }) => onChange(target.value || undefined)} />
      );
    case 'list':
      return (
        <TextField
          {...common}
          defaultValue={Array.isArray(value) ? value.join(', ') : ''}
          onChange={({ target }) => onChange(listOf(target.value))}
        />
      );
    case 'pairs':
      return <Pairs {...{ field, value, problem, onChange }} />;
    case 'secret':
      return <Secret {...common} value={text} onChange={onChange} />;
    case 'database':
      return <Database {...common} value={text} onChange={onChange} />;
    case 'number':
      return (
        <TextField
          {...common}
          type="number"
          value={text}
          onChange={({ target }) => onChange(target.value === '' ? undefined : Number(target.value))}
        />
      );
    default:
      return (
        <TextField {...common} value={text} onChange={({ target }) => onChange(target.value || undefined)} />
      );
  }
}

const writtenOf = (value: unknown): string =>
  value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value);

/** A stored value that is a default stays selectable under its own name. */
function optionsWith({ options = [] }: Setting, value: unknown): readonly (readonly [string, string])[] {
  const written = writtenOf(value);
  return options.some(([one]) => one === written) ? options : [...options, [written, written]];
}

/** Booleans and lists are options too. */
function readChoice(text: string): unknown {
  if (text === '') return undefined;
  return text === 'false' || text.startsWith('[') ? (JSON.parse(text) as unknown) : text;
}

function listOf(text: string): string[] | undefined {
  const items = text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
  return items.length === 0 ? undefined : items;
}

function Pairs({
  field,
  value,
  problem,
  onChange,
}: Omit<SettingProps, 'config'> & { readonly value: unknown }) {
  // Rows without a name are no setting yet, and stay on screen.
  const shown = pairsOf((value ?? {}) as Config);
  return (
    <PairsField
      label={field.label}
      {...(field.hint !== undefined && { hint: field.hint })}
      problem={problem}
      values="Path"
      pairs={shown}
      onChange={(pairs) =>
        onChange(recordOf(pairs.map(([name, path], index) => [name || `name_${index + 1}`, path || '$.'])))
      }
    />
  );
}

interface NamedProps {
  readonly label: string;
  readonly hint: string | undefined;
  readonly problem: string | undefined;
  readonly required: boolean | undefined;
  readonly value: string;
  readonly onChange: (value: unknown) => void;
}

function Secret({ onChange, ...input }: NamedProps) {
  const list = useId();
  const names = useSecretNames();
  return (
    <>
      <TextField
        {...input}
        hint={input.hint ?? 'The name of a secret in the vault.'}
        list={list}
        autoComplete="off"
        onChange={({ target }) => onChange(target.value || undefined)}
      />
      <datalist id={list}>
        {names.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </datalist>
    </>
  );
}

function Database({ onChange, hint, ...select }: NamedProps) {
  const { data } = useQuery({
    queryKey: useKey('databases', 'names'),
    queryFn: ({ signal }) => take(api.GET('/api/database-configs', { signal })),
    enabled: useAllowed('databases:read'),
  });
  const databases = (data?.data ?? []).map(({ id, name }) => [id, name] as const);
  const isListed = select.value === '' || databases.some(([id]) => id === select.value);
  return (
    <SelectField
      {...select}
      hint={databases.length === 0 ? 'The tenant has no database yet; an owner connects one.' : hint}
      options={[
        ['', 'Choose a database'],
        ...(isListed ? [] : [[select.value, select.value] as const]),
        ...databases,
      ]}
      onChange={({ target }) => onChange(target.value || undefined)}
    />
  );
}
