import { cx } from './cx';

/** The mark of `icon.svg` and the name. */
export function Brand({ className }: { readonly className?: string }) {
  return (
    <span className={cx('flex items-center gap-2 text-base font-semibold text-text', className)}>
      <svg viewBox="0 0 32 32" className="size-5 shrink-0" aria-hidden>
        <rect width="32" height="32" rx="8" className="fill-accent" />
        <g className="fill-on-accent">
          <circle cx="16" cy="9" r="3.5" />
          <circle cx="9" cy="21" r="3.5" />
          <circle cx="23" cy="21" r="3.5" />
        </g>
      </svg>
      Troupe
    </span>
  );
}
