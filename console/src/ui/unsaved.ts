import { useBlocker } from '@tanstack/react-router';
import { useEffect } from 'react';

const changed = new Set<object>();

/** Asks before what is written and not saved is left: for another page, another tenant, or another site. */
export function useUnsaved(isChanged: boolean): void {
  useEffect(() => {
    if (!isChanged) return undefined;
    const mark = {};
    changed.add(mark);
    return () => void changed.delete(mark);
  }, [isChanged]);
  useBlocker({
    shouldBlockFn: ({ current, next }) => current.pathname !== next.pathname && !mayLeave(),
    enableBeforeUnload: () => isChanged,
  });
}

/** Whether nothing is lost, or the person said that it may be. */
export function mayLeave(): boolean {
  return changed.size === 0 || confirm('Leave without saving what you changed?');
}
