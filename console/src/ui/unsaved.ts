import { useBlocker } from '@tanstack/react-router';
import { createContext, useContext, useLayoutEffect } from 'react';

/** One mark for each form in which something is written and not saved. */
export type Marks = Set<object>;

const ofPage: Marks = new Set();

/** Of what is kept while the page is loaded, so that another screen does not lose it. */
const kept: Marks = new Set();

/** Those of a dialog, which asks before it closes. */
export const DialogMarks = createContext<Marks | undefined>(undefined);

/** What is written here and not saved is not left without a question: for another page, another tenant, or another site. */
export function useUnsaved(isChanged: boolean, { isKept = false } = {}): void {
  const ofDialog = useContext(DialogMarks);
  // Not after painting: a form that is sent may lead on as soon as its answer is there.
  useLayoutEffect(() => {
    if (!isChanged) return undefined;
    const mark = {};
    const all = [isKept ? kept : ofPage, ...(ofDialog === undefined ? [] : [ofDialog])];
    for (const marks of all) marks.add(mark);
    return () => {
      for (const marks of all) marks.delete(mark);
    };
  }, [isChanged, isKept, ofDialog]);
}

/** Once, above all pages: with one blocker for each form, the person would be asked once for each. */
export function useLeaveQuestion(): void {
  useBlocker({
    shouldBlockFn: ({ current, next }) => current.pathname !== next.pathname && !mayLeave(),
    enableBeforeUnload: () => ofPage.size + kept.size > 0,
  });
}

/** Whether nothing is lost, or the person said that it may be. */
export function mayLeave(): boolean {
  return ofPage.size === 0 || confirm('Leave without saving what you changed?');
}

export function mayClose(marks: Marks): boolean {
  return marks.size === 0 || confirm('Close without saving what you changed?');
}
