import { type RefObject, useEffect, useState } from 'react';

/** Drawn before and after those on screen, so that scrolling finds them there. */
const spareLines = 8;

export interface LinesOnScreen {
  /** The numbers of the lines to draw: from the first up to, and without, the end. */
  readonly first: number;
  readonly end: number;
}

/**
 * Which of many lines of one height are on screen. Their places follow from their numbers, so that ten thousand lines cost
 * as much as those on screen. It draws again only when another line comes first.
 */
export function useLinesOnScreen(
  box: RefObject<HTMLElement | null>,
  count: number,
  lineHeight: number,
): LinesOnScreen {
  const [top, setTop] = useState(0);
  const [room, setRoom] = useState(1);
  const hasLines = count > 0;
  useEffect(() => {
    const element = box.current;
    if (element === null || !hasLines) return undefined;
    const look = (): void => {
      setTop(Math.floor(element.scrollTop / lineHeight));
      setRoom(Math.ceil(element.clientHeight / lineHeight) + 1);
    };
    look();
    const sizes = new ResizeObserver(look);
    sizes.observe(element);
    element.addEventListener('scroll', look, { passive: true });
    return () => {
      sizes.disconnect();
      element.removeEventListener('scroll', look);
    };
  }, [box, hasLines, lineHeight]);
  return {
    first: Math.max(0, Math.min(top, count) - spareLines),
    end: Math.min(count, top + room + spareLines),
  };
}

/** Scrolls as far as the line needs to be on screen. */
export function showLine(element: HTMLElement, line: number, lineHeight: number): void {
  const from = line * lineHeight;
  const to = from + lineHeight;
  if (from < element.scrollTop) element.scrollTo({ top: from, behavior: 'instant' });
  else if (to > element.scrollTop + element.clientHeight)
    element.scrollTo({ top: to - element.clientHeight, behavior: 'instant' });
}
