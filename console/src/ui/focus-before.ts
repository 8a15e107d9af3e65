import { type RefObject, useLayoutEffect, useRef } from 'react';

/**
 * Takes the focus from the page before a window hides the page from readers: a browser warns of a focused element in a
 * hidden part. Answers what had the focus, to which it returns.
 */
export function useFocusBefore(open: boolean): RefObject<HTMLElement | null> {
  const before = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    const focused = document.activeElement;
    if (!open || !(focused instanceof HTMLElement) || focused === document.body) return;
    before.current = focused;
    focused.blur();
  }, [open]);
  return before;
}
