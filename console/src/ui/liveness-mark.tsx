import type { Liveness } from '../api/realtime';
import { cx } from './cx';

const texts: Readonly<Record<Liveness, string>> = {
  live: 'Live',
  connecting: 'Connecting …',
  off: 'Not live',
};

/** Whether what is shown changes by itself. */
export function LivenessMark({ liveness }: { readonly liveness: Liveness }) {
  return (
    <span role="status" className="flex items-center gap-1.5 text-xs text-muted">
      <span
        aria-hidden
        className={cx('size-2 rounded-full', liveness === 'live' ? 'bg-good' : 'bg-line-strong')}
      />
      {texts[liveness]}
    </span>
  );
}
