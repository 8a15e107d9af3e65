import { useState } from 'react';
import { isSame } from './form/rebased';

interface Notation<Value, Shown> {
  readonly show: (value: Value) => Shown;
  readonly read: (shown: Shown) => Value;
}

/**
 * What an input shows of a value that can be written in several ways: it stays as it is written (a comma at the end, the
 * indents of JSON) until the value changes elsewhere.
 */
export function useAsWritten<Value, Shown>(
  value: Value,
  { show, read }: Notation<Value, Shown>,
): readonly [Shown, (shown: Shown) => void] {
  const [shown, setShown] = useState(() => show(value));
  const [given, setGiven] = useState(value);
  if (!isSame(given, value)) {
    setGiven(value);
    if (!isSame(read(shown), value)) setShown(show(value));
  }
  return [shown, setShown];
}
