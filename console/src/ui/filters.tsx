import { type ReactNode, useEffect, useRef, useState } from 'react';
import { inputClass } from './field';

/** The controls above a list. They belong into the address, so that a filtered list is a link. */
export function Filters({ children }: { readonly children: ReactNode }) {
  return (
    <search className="flex flex-wrap items-center gap-2" aria-label="Filters">
      {children}
    </search>
  );
}

const all = '';

/** A choice among values; the first entry removes the filter. */
export function FilterSelect({
  label,
  value,
  options,
  onChange,
}: {
  readonly label: string;
  readonly value: string | undefined;
  readonly options: readonly (string | readonly [value: string, text: string])[];
  readonly onChange: (value: string | undefined) => void;
}) {
  return (
    <select
      aria-label={label}
      className={`${inputClass} !w-auto`}
      value={value ?? all}
      onChange={({ target }) => onChange(target.value === all ? undefined : target.value)}
    >
      <option value={all}>{label}: all</option>
      {options.map((option) => {
        const [one, text] = typeof option === 'string' ? [option, option] : option;
        return (
          <option key={one} value={one}>
            {text}
          </option>
        );
      })}
    </select>
  );
}

/** Free text; it takes effect a moment after the last key. */
export function FilterText({
  label,
  value,
  onChange,
}: {
  readonly label: string;
  readonly value: string | undefined;
  readonly onChange: (value: string | undefined) => void;
}) {
  const [text, setText] = useState(value ?? '');
  const change = useRef(onChange);
  useEffect(() => {
    change.current = onChange;
  });
  const [given, setGiven] = useState(value);
  /** What the address has, or was asked to have, by this field. */
  const [asked, setAsked] = useState(value);
  if (given !== value) {
    setGiven(value);
    // By a link, or by going back. What this field asked for is older than what is written by now.
    if (value !== asked) {
      setAsked(value);
      setText(value ?? '');
    }
  }
  // A page stays until the next one is ready, and must not lead back to itself.
  const [ownPath] = useState(() => location.pathname);
  useEffect(() => {
    if (text === (value ?? '')) return undefined;
    const next = text === '' ? undefined : text;
    const timer = setTimeout(() => {
      if (location.pathname !== ownPath) return;
      setAsked(next);
      change.current(next);
    }, 250);
    return () => clearTimeout(timer);
  }, [text, value, ownPath]);
  return (
    <input
      type="search"
      aria-label={label}
      placeholder={label}
      className={`${inputClass} !w-56 max-sm:!w-full`}
      value={text}
      onChange={({ target }) => setText(target.value)}
    />
  );
}
