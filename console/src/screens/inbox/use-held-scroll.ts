import { type RefObject, useLayoutEffect, useRef } from 'react';
import type { Conversation } from './conversations';

/**
 * The box of the list. It keeps the lines that a person looks at in their place when conversations move to the top of the
 * list. At the top itself the newest are shown.
 */
export function useHeldScroll(
  rows: readonly Conversation[],
  rowHeight: number,
): RefObject<HTMLDivElement | null> {
  const box = useRef<HTMLDivElement>(null);
  const before = useRef<readonly Conversation[]>(rows);
  useLayoutEffect(() => {
    const element = box.current;
    const old = before.current;
    before.current = rows;
    if (element === null || element.scrollTop < rowHeight || old === rows) return;
    const top = Math.floor(element.scrollTop / rowHeight);
    // A line that changed has moved; one that stayed the same object has not.
    for (const [index, line] of old.slice(top, top + 20).entries()) {
      const now = rows.indexOf(line);
      if (now === -1) continue;
      const by = now - (top + index);
      if (by !== 0) element.scrollBy({ top: by * rowHeight, behavior: 'instant' });
      return;
    }
  }, [rows, rowHeight]);
  return box;
}
