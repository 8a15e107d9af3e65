import type { ProcessId } from '../ids/ids.js';
import type { Traced } from './events.js';

/**
 * Merges the traces of several processes by causality: each process's events stay in their order, and what was received
 * comes after what was sent. Which that is, numbers tell: a view's number and members, the count of promises from one
 * process to another, a seized number. No clock of one process is compared with a clock of another.
 *
 * If an event's cause is in no trace (its process's trace is not at hand, or the event is forged), the event is merged
 * last, and its rule refuses it.
 */
export function merge(traces: ReadonlyMap<ProcessId, readonly Traced[]>): Traced[] {
  const merged: Traced[] = [];
  const places = new Map([...traces.keys()].map((process) => [process, 0]));
  const sent = new Map<string, number>();
  const received = new Map<string, number>();
  const next = (process: ProcessId): Traced | undefined => traces.get(process)?.[places.get(process) ?? 0];
  const isCaused = (traced: Traced): boolean => {
    const cause = causeOf(traced);
    if (cause === undefined) return true;
    const needed = cause.counts ? (received.get(cause.key) ?? 0) + 1 : 1;
    return (sent.get(cause.key) ?? 0) >= needed;
  };
  const take = (process: ProcessId, traced: Traced): void => {
    merged.push(traced);
    places.set(process, (places.get(process) ?? 0) + 1);
    const effect = sendingOf(traced);
    if (effect !== undefined) sent.set(effect, (sent.get(effect) ?? 0) + 1);
    const cause = causeOf(traced);
    if (cause?.counts === true) received.set(cause.key, (received.get(cause.key) ?? 0) + 1);
  };
  for (;;) {
    let moved = false;
    let waiting: Traced | undefined;
    for (const process of traces.keys()) {
      for (let traced = next(process); traced !== undefined; traced = next(process)) {
        if (!isCaused(traced)) {
          waiting ??= traced;
          break;
        }
        take(process, traced);
        moved = true;
      }
    }
    if (moved) continue;
    if (waiting === undefined) return merged;
    take(waiting.process, waiting);
  }
}

interface Cause {
  readonly key: string;
  /** The nth receipt belongs to the nth sending or a later one: each needs one of its own. */
  readonly counts: boolean;
}

function causeOf(traced: Traced): Cause | undefined {
  if (traced.event === 'adopt') return { key: viewKey(traced), counts: false };
  if (traced.event === 'promised') return { key: `promise ${traced.by} ${traced.process}`, counts: true };
  return undefined;
}

function sendingOf(traced: Traced): string | undefined {
  if (traced.event === 'publish') return viewKey(traced);
  if (traced.event === 'promise') return `promise ${traced.process} ${traced.to}`;
  return undefined;
}

export function viewKey({
  view,
  members,
}: {
  readonly view: number;
  readonly members: readonly string[];
}): string {
  return `view ${view} ${[...members].sort().join(' ')}`;
}
