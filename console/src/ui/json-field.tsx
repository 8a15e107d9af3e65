import type { ReactNode } from 'react';
import { CodeEditor } from './code-editor';
import { type JsonKind, jsonOf, UnreadableJson } from './unreadable-json';
import { useAsWritten } from './use-as-written';

/**
 * A JSON value that is written as text. `onChange` gets the value, undefined for no text, and an `UnreadableJson` while
 * the text is not what the field expects; that is said below.
 */
export function JsonField({
  label,
  hint,
  problem,
  kind = 'any',
  value,
  onChange,
}: {
  readonly label: string;
  readonly hint?: ReactNode;
  readonly problem?: string | undefined;
  readonly kind?: JsonKind;
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
}) {
  const [text, setText] = useAsWritten(value, { show: textOf, read: (written) => jsonOf(written, kind) });
  const write = (next: string): void => {
    setText(next);
    onChange(jsonOf(next, kind));
  };
  const shown = value instanceof UnreadableJson ? value.problem('This') : problem;
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

function textOf(value: unknown): string {
  if (value === undefined) return '';
  return value instanceof UnreadableJson ? value.text : JSON.stringify(value, null, 2);
}
