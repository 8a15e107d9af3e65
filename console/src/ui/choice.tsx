import { inputClass } from './field';

/** One of several values, always chosen: a period, a grouping. */
export function Choice({
  label,
  value,
  options,
  onChange,
}: {
  readonly label: string;
  readonly value: string;
  readonly options: readonly (readonly [value: string, text: string])[];
  readonly onChange: (value: string) => void;
}) {
  return (
    <select
      aria-label={label}
      className={`${inputClass} !w-auto`}
      value={value}
      onChange={({ target }) => onChange(target.value)}
    >
      {options.map(([one, text]) => (
        <option key={one} value={one}>
          {text}
        </option>
      ))}
    </select>
  );
}
