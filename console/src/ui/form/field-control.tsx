import { useId } from 'react';
import { CheckField } from '../check-field';
import { SelectField, TextArea, TextField } from '../field';
import { JsonField } from '../json-field';
import { type Pairs, PairsField } from '../pairs-field';
import type { FieldSpec, Raws } from './fields';

export interface FieldControlProps {
  readonly name: string;
  readonly spec: FieldSpec;
  /** What all fields of the form hold. */
  readonly raws: Raws;
  readonly problem: string | undefined;
  readonly onChange: (raw: unknown) => void;
  readonly onLeave?: () => void;
}

/** One field, as its kind says. */
export function FieldControl({ name, spec, raws, problem, onChange, onLeave }: FieldControlProps) {
  const suggestions = useId();
  const raw = raws[name];
  const { label, placeholder, required } = spec;
  const hint = typeof spec.hint === 'function' ? spec.hint(raws) : spec.hint;
  const shared = { label, hint, problem };
  const text = typeof raw === 'string' ? raw : '';
  const input = {
    ...shared,
    name,
    placeholder,
    required,
    value: text,
    onBlur: onLeave,
    onChange: ({ target }: { readonly target: { readonly value: string } }) => onChange(target.value),
  };
  switch (spec.kind) {
    case 'check':
      return (
        <CheckField
          {...{ label, hint, name }}
          checked={raw === true}
          onChange={({ target }) => onChange(target.checked)}
        />
      );
    case 'choice':
      return <SelectField {...input} options={spec.options} />;
    case 'area':
      return <TextArea {...input} maxLength={spec.maxLength} rows={spec.rows} />;
    case 'pairs':
      return (
        <PairsField
          label={label}
          problem={problem}
          {...(typeof hint === 'string' && { hint })}
          {...(spec.names !== undefined && { names: spec.names })}
          {...(spec.values !== undefined && { values: spec.values })}
          pairs={(raw ?? []) as Pairs}
          onChange={onChange}
        />
      );
    case 'json':
      return <JsonField {...shared} value={raw} onChange={onChange} />;
    case 'number':
      return (
        <TextField
          {...input}
          type="number"
          min={spec.min}
          max={spec.max}
          step={spec.whole === true ? 1 : 'any'}
        />
      );
    case 'list':
      return <TextField {...input} />;
    case 'text':
      return (
        <>
          <TextField
            {...input}
            type={spec.type ?? 'text'}
            autoComplete={spec.autoComplete}
            maxLength={spec.maxLength}
            list={spec.suggestions === undefined ? undefined : suggestions}
          />
          {spec.suggestions !== undefined && (
            <datalist id={suggestions}>
              {spec.suggestions.map((one) => (
                <option key={one} value={one}>
                  {one}
                </option>
              ))}
            </datalist>
          )}
        </>
      );
  }
}
