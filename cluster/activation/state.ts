/**
 * loading: the store is being read; calls wait.
 * ready:   calls are handled.
 * ending:  a running turn finishes here and control calls are served; new turns go to the new owner.
 * gone:    out of memory; calls are refused.
 */
export type CellState = 'loading' | 'ready' | 'ending' | 'gone';

const next: Readonly<Record<CellState, readonly CellState[]>> = {
  loading: ['ready', 'gone'],
  ready: ['ending', 'gone'],
  ending: ['gone'],
  gone: [],
};

export function mayBecome(from: CellState, to: CellState): boolean {
  return next[from].includes(to);
}
