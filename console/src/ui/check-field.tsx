import { type ComponentProps, type ReactNode, useId } from 'react';

/** A setting that is on or off. */
export function CheckField({
  label,
  hint,
  ...input
}: {
  readonly label: string;
  readonly hint?: ReactNode;
} & Omit<ComponentProps<'input'>, 'id' | 'type'>) {
  const id = useId();
  return (
    <div className="flex items-start gap-2">
      <input
        {...input}
        type="checkbox"
        id={id}
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        className="mt-0.5 size-4 shrink-0 accent-accent"
      />
      <div className="min-w-0">
        <label htmlFor={id} className="text-sm font-medium">
          {label}
        </label>
        {hint !== undefined && (
          <p id={`${id}-hint`} className="text-xs text-muted">
            {hint}
          </p>
        )}
      </div>
    </div>
  );
}
