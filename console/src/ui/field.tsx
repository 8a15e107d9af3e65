import { type ComponentProps, type ReactNode, useId } from 'react';
import { ApiError } from '../api/errors';
import { cx } from './cx';

export const inputClass =
  'h-8 w-full rounded-md border border-line-strong bg-surface px-2.5 text-sm text-text placeholder:text-muted aria-invalid:border-bad disabled:opacity-60';

interface Labelled {
  readonly label: string;
  /** What to write, or what follows from it. */
  readonly hint?: ReactNode;
  /** What is wrong with the value. */
  readonly problem?: string | undefined;
}

/** Name, hint and problem of one field; `children` gets the attributes that tie them to the control. */
export function Field({
  label,
  hint,
  problem,
  children,
}: Labelled & {
  readonly children: (attributes: {
    readonly id: string;
    readonly 'aria-invalid': true | undefined;
    readonly 'aria-describedby': string | undefined;
  }) => ReactNode;
}) {
  const id = useId();
  const describedBy = [hint !== undefined && `${id}-hint`, problem !== undefined && `${id}-problem`];
  const described = describedBy.filter(Boolean).join(' ');
  return (
    <div className="flex flex-col gap-1">
      <label htmlFor={id} className="text-sm font-medium">
        {label}
      </label>
      {children({
        id,
        'aria-invalid': problem === undefined ? undefined : true,
        'aria-describedby': described === '' ? undefined : described,
      })}
      {hint !== undefined && (
        <p id={`${id}-hint`} className="text-xs text-muted">
          {hint}
        </p>
      )}
      {problem !== undefined && (
        <p id={`${id}-problem`} className="text-xs text-bad">
          {problem}
        </p>
      )}
    </div>
  );
}

export function TextField({
  label,
  hint,
  problem,
  className,
  ...input
}: Labelled & Omit<ComponentProps<'input'>, 'id'>) {
  return (
    <Field label={label} hint={hint} problem={problem}>
      {(attributes) => <input {...input} {...attributes} className={cx(inputClass, className)} />}
    </Field>
  );
}

export function TextArea({
  label,
  hint,
  problem,
  className,
  ...input
}: Labelled & Omit<ComponentProps<'textarea'>, 'id'>) {
  return (
    <Field label={label} hint={hint} problem={problem}>
      {(attributes) => (
        <textarea
          {...input}
          {...attributes}
          className={cx(inputClass, 'h-auto min-h-20 py-1.5', className)}
        />
      )}
    </Field>
  );
}

export function SelectField({
  label,
  hint,
  problem,
  options,
  className,
  ...select
}: Labelled &
  Omit<ComponentProps<'select'>, 'id'> & {
    readonly options: readonly (readonly [value: string, text: string])[];
  }) {
  return (
    <Field label={label} hint={hint} problem={problem}>
      {(attributes) => (
        <select {...select} {...attributes} className={cx(inputClass, className)}>
          {options.map(([value, text]) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

/** What the API said about one field of a form (`details {field, issue}`). */
export function problemOf(error: unknown, field: string): string | undefined {
  const named = error instanceof ApiError ? error.field : undefined;
  return named?.name === field ? named.issue : undefined;
}

/** A refusal that names none of the form's fields. */
export function FormProblem({
  error,
  fields = [],
}: {
  readonly error: unknown;
  readonly fields?: readonly string[];
}) {
  if (error === null || error === undefined) return null;
  if (error instanceof ApiError && error.field !== undefined && fields.includes(error.field.name))
    return null;
  return (
    <p role="alert" className="rounded-md bg-bad-soft px-3 py-2 text-sm text-bad">
      {error instanceof Error ? error.message : 'An unexpected error occurred.'}
    </p>
  );
}
