import { Search } from 'lucide-react';
import { lazy, Suspense, useEffect, useState } from 'react';
import { buttonClass } from '../ui/button';
import { cx } from '../ui/cx';

const Palette = lazy(() => import('./palette').then(({ Palette }) => ({ default: Palette })));

const isApple = /Mac|iP(?:hone|ad)/.test(navigator.platform);

/** Opens the command palette, as do Ctrl-K and ⌘K. */
export function PaletteButton() {
  const [open, setOpen] = useState(false);
  const [wasOpened, setWasOpened] = useState(false);
  const show = (): void => {
    setWasOpened(true);
    setOpen(true);
  };
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey) || event.altKey) return;
      event.preventDefault();
      setWasOpened(true);
      setOpen((present) => !present);
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  }, []);
  return (
    <>
      <button
        type="button"
        className={cx(buttonClass(), 'text-muted')}
        onClick={show}
        aria-keyshortcuts="Control+K Meta+K"
      >
        <Search size={14} aria-hidden />
        <span className="max-sm:sr-only">Search</span>
        <kbd aria-hidden className="rounded border border-line px-1 font-sans text-xs max-sm:hidden">
          {isApple ? '⌘K' : 'Ctrl K'}
        </kbd>
      </button>
      {wasOpened && (
        <Suspense fallback={null}>
          <Palette open={open} onClose={() => setOpen(false)} />
        </Suspense>
      )}
    </>
  );
}
