import { Plus, X } from 'lucide-react';
import { Button, IconButton } from './button';
import { inputClass } from './field';

export type Pairs = readonly (readonly [name: string, value: string])[];

/** Names with values, such as headers. A row without a name counts as not there. */
export function PairsField({
  label,
  hint,
  problem,
  pairs,
  onChange,
  names = 'Name',
  values = 'Value',
}: {
  readonly label: string;
  readonly hint?: string;
  readonly problem?: string | undefined;
  readonly pairs: Pairs;
  readonly onChange: (pairs: Pairs) => void;
  readonly names?: string;
  readonly values?: string;
}) {
  const set = (at: number, pair: Pairs[number]): void =>
    onChange(pairs.map((one, index) => (index === at ? pair : one)));
  return (
    <fieldset className="flex min-w-0 flex-col gap-1.5">
      <legend className="mb-1 text-sm font-medium">{label}</legend>
      {pairs.map(([name, value], index) => (
        // Rows have no name of their own; they are only appended and removed.
        <div key={index} className="flex items-center gap-1.5">
          <input
            className={`${inputClass} !w-2/5`}
            aria-label={`${label}: ${names} ${index + 1}`}
            placeholder={names}
            value={name}
            onChange={({ target }) => set(index, [target.value, value])}
          />
          <input
            className={inputClass}
            aria-label={`${label}: ${values} ${index + 1}`}
            placeholder={values}
            value={value}
            onChange={({ target }) => set(index, [name, target.value])}
          />
          <IconButton
            label={`Remove ${name === '' ? `row ${index + 1}` : name}`}
            icon={<X size={14} aria-hidden />}
            onClick={() => onChange(pairs.filter((_, other) => other !== index))}
          />
        </div>
      ))}
      <div>
        <Button icon={<Plus size={14} aria-hidden />} onClick={() => onChange([...pairs, ['', '']])}>
          Add
        </Button>
      </div>
      {hint !== undefined && <p className="text-xs text-muted">{hint}</p>}
      {problem !== undefined && <p className="text-xs text-bad">{problem}</p>}
    </fieldset>
  );
}

export const pairsOf = (record: Readonly<Record<string, unknown>> | undefined): Pairs =>
  Object.entries(record ?? {}).map(([name, value]) => [
    name,
    typeof value === 'string' ? value : JSON.stringify(value),
  ]);

/** Undefined without a row, so that the setting is left out. */
export function recordOf(pairs: Pairs): Record<string, string> | undefined {
  const named = pairs.filter(([name]) => name !== '');
  return named.length === 0 ? undefined : Object.fromEntries(named);
}
