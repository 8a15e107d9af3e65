import type { ComponentProps } from 'react';
import { TextField } from './field';
import { useAsWritten } from './use-as-written';

const commas = {
  show: (entries: readonly string[]): string => entries.join(', '),
  read: (text: string): readonly string[] =>
    text
      .split(',')
      .map((entry) => entry.trim())
      .filter((entry) => entry !== ''),
};

/** Entries, separated by commas. */
export function ListField({
  entries,
  onChange,
  ...input
}: Omit<ComponentProps<typeof TextField>, 'value' | 'onChange'> & {
  readonly entries: readonly string[];
  readonly onChange: (entries: readonly string[]) => void;
}) {
  const [text, setText] = useAsWritten(entries, commas);
  return (
    <TextField
      {...input}
      value={text}
      onChange={({ target }) => {
        setText(target.value);
        onChange(commas.read(target.value));
      }}
    />
  );
}
