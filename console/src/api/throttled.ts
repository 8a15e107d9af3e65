import { useEffect, useRef } from 'react';

/**
 * The function, called at most once in the time, however often it is asked for; the last request is never lost. For
 * reading a list again when events arrive: a busy tenant has hundreds a second.
 */
export function useThrottled(act: () => void, everyMs = 1_000): () => void {
  const state = useRef<{ act: () => void; timer: number | undefined; againWanted: boolean }>({
    act,
    timer: undefined,
    againWanted: false,
  });
  useEffect(() => {
    state.current.act = act;
  });
  useEffect(() => {
    const { current } = state;
    return () => {
      clearTimeout(current.timer);
      current.timer = undefined;
    };
  }, []);
  return () => ask(state.current, everyMs);
}

function ask(
  state: { act: () => void; timer: number | undefined; againWanted: boolean },
  everyMs: number,
): void {
  if (state.timer !== undefined) {
    state.againWanted = true;
    return;
  }
  state.act();
  state.timer = window.setTimeout(() => {
    state.timer = undefined;
    if (!state.againWanted) return;
    state.againWanted = false;
    ask(state, everyMs);
  }, everyMs);
}
