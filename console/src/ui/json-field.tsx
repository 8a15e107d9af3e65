import { type ReactNode, useState } from 'react';
import { CodeEditor } from './code-editor';

/**
 * A JSON value that is written as text. `onChange` gets the value, or undefined while the text is no JSON; the problem
 * is shown below.
 */
export function JsonField({
  label,
  hint,
  problem,
  value,
  onChange,
}: {
  readonly label: string;
  readonly hint?: ReactNode;
  readonly problem?: string | undefined;
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
}) {
  const [text, setText] = useState(() => textOf(value));
  const [given, setGiven] = useState(value);
  const [fault, setFault] = useState<string>();
  if (given !== value) {
    // The value came from elsewhere, and not from what is written here.
    setGiven(value);
    if (fault === undefined && JSON.stringify(parsed(text)) !== JSON.stringify(value)) setText(textOf(value));
  }
  const write = (next: string): void => {
    setText(next);
    if (next.trim() === '') {
      setFault(undefined);
      onChange(undefined);
      return;
    }
    const read = parsed(next);
    setFault(read === undefined ? 'This is not valid JSON.' : undefined);
    if (read !== undefined) onChange(read);
  };
  const shown = fault ?? problem;
  return (
    <div className="flex min-w-0 flex-col gap-1">
      <span className="text-sm font-medium">{label}</span>
      <CodeEditor label={label} language="json" value={text} onChange={write} />
      {hint !== undefined && <p className="text-xs text-muted">{hint}</p>}
      {shown !== undefined && (
        <p role="alert" className="text-xs text-bad">
          {shown}
        </p>
      )}
    </div>
  );
}

const textOf = (value: unknown): string => (value === undefined ? '' : JSON.stringify(value, null, 2));

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
