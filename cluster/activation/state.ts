/**
 * loading: the store is asked, calls wait.
 * ready:   calls are handled.
 * ending:  a running turn finishes where it is and its control lane is served; new turns go to the owner.
 * gone:    out of memory; nothing is handled any more.
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
