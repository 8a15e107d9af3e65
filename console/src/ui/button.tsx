import type { ComponentProps, ReactNode } from 'react';
import { cx } from './cx';

/** `danger` stands alone in the question whether it is meant; `dangerous` is the button that leads to the question. */
type Kind = 'primary' | 'secondary' | 'quiet' | 'danger' | 'dangerous';

const kinds: Readonly<Record<Kind, string>> = {
  primary: 'bg-accent text-on-accent border-transparent hover:bg-accent-hover',
  secondary: 'bg-raised text-text border-line hover:bg-hover',
  quiet: 'bg-transparent text-text border-transparent hover:bg-hover',
  dangerous: 'bg-raised text-bad border-line hover:bg-bad-soft',
  danger: 'bg-bad text-on-accent border-transparent hover:opacity-90',
};

export interface ButtonProps extends ComponentProps<'button'> {
  readonly kind?: Kind;
  /** Shows that the action runs, and takes no second click. */
  readonly busy?: boolean;
  readonly icon?: ReactNode;
}

export const buttonClass = (kind: Kind = 'secondary'): string =>
  cx(
    'inline-flex h-8 items-center justify-center gap-1.5 rounded-md border px-3 text-sm font-medium whitespace-nowrap',
    'disabled:cursor-not-allowed disabled:opacity-60',
    kinds[kind],
  );

export function Button({
  kind,
  busy = false,
  icon,
  children,
  className,
  disabled,
  type = 'button',
  ...rest
}: ButtonProps) {
  return (
    <button
      {...rest}
      type={type}
      disabled={disabled === true || busy}
      aria-busy={busy || undefined}
      className={cx(buttonClass(kind), className)}
    >
      {icon}
      {children}
      {busy && <span aria-hidden="true">…</span>}
    </button>
  );
}

/** A button that is only an icon; `label` names it. */
export function IconButton({ label, className, ...rest }: ButtonProps & { readonly label: string }) {
  return (
    <Button kind="quiet" {...rest} aria-label={label} title={label} className={cx('w-8 !px-0', className)} />
  );
}
