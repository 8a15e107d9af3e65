import type { StreamEvent } from '../invocation/index.js';

/**
 * The events of one turn, for any number of readers. Ids are epoch × 2^32 + n, so that the ids of a new owner are
 * above all older ones. A reader with an id of an older owner is told that the turn restarted, and reads it from
 * the beginning without the first event, which it has seen.
 */
export interface LoggedEvent {
  readonly id: number;
  readonly event: StreamEvent;
}

/** An event as clients and the store read it. */
export interface EventText {
  readonly id: number;
  readonly type: string;
  /** JSON text of the event. */
  readonly data: string;
}

export function textOf({ id, event }: LoggedEvent): EventText {
  return { id, type: event.type, data: JSON.stringify(event) };
}

const epochSize = 2 ** 32;

export function epochOfEvent(id: number): number {
  return Math.floor(id / epochSize);
}

/** The id of the first event that one owner gives. */
function firstOf(epoch: number): number {
  return epoch * epochSize + 1;
}

/** A turn's first event and its last ones, with the ids that they had. */
export function endsOfLog(
  first: StreamEvent,
  last: readonly StreamEvent[],
  lastId: number,
): readonly EventText[] {
  const firstId = firstOf(epochOfEvent(lastId));
  return [
    textOf({ id: firstId, event: first }),
    ...last.map((event, at) => textOf({ id: lastId - last.length + at + 1, event })),
  ];
}

export class TurnLog {
  readonly #epoch: number;
  readonly #events: LoggedEvent[] = [];
  readonly #waiting = new Set<() => void>();
  #closed = false;
  /** Called on each change, besides the readers that wait for one. */
  onChange: () => void = () => undefined;

  constructor(epoch: number) {
    this.#epoch = epoch;
  }

  /** Whether the log is complete. */
  get closed(): boolean {
    return this.#closed;
  }

  get events(): readonly LoggedEvent[] {
    return this.#events;
  }

  append(event: StreamEvent): void {
    if (!this.#closed) this.publish(this.prepare([event]));
  }

  /** The coming events with their ids, for the transaction that precedes their publication. */
  prepare(coming: readonly StreamEvent[]): readonly LoggedEvent[] {
    const first = firstOf(this.#epoch) + this.#events.length;
    return coming.map((event, at) => ({ id: first + at, event }));
  }

  publish(events: readonly LoggedEvent[]): void {
    for (const event of events) this.#events.push(event);
    this.wake();
  }

  close(): void {
    this.#closed = true;
    this.wake();
  }

  /** Wakes the readers, which then check their own state. */
  wake(): void {
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
    this.onChange();
  }

  /** Resolves at the next change. */
  changed(): Promise<void> {
    return new Promise((resolve) => this.#waiting.add(resolve));
  }

  /** The index after the event with this id, which may come from an older owner. */
  placeAfter(id: number): number {
    return placeAfter(this.#events, id);
  }
}

/** The index at which a reader that has seen `id` continues. */
export function placeAfter(events: readonly { readonly id: number }[], id: number): number {
  const first = events[0];
  if (first === undefined || id <= 0) return 0;
  if (epochOfEvent(id) < epochOfEvent(first.id)) return 1;
  const behind = events.findIndex((event) => event.id > id);
  return behind === -1 ? events.length : behind;
}

/** Pieces of text with consecutive ids. */
interface Run {
  readonly id: number;
  readonly type: 'delta' | 'thinking';
  readonly lengths: readonly number[];
  readonly text: string;
}

/** The stored form: pieces of text are joined, and split again for a reader that continues in the middle. */
export type CompactLog = readonly (EventText | Run)[];

export function compact(events: readonly LoggedEvent[]): CompactLog {
  const log: (EventText | { id: number; type: 'delta' | 'thinking'; lengths: number[]; text: string })[] = [];
  for (const logged of events) {
    const { id, event } = logged;
    if (event.type !== 'delta' && event.type !== 'thinking') {
      log.push(textOf(logged));
      continue;
    }
    const { type, content } = event;
    const last = log.at(-1);
    if (last !== undefined && 'lengths' in last && last.type === type) {
      last.lengths.push(content.length);
      last.text += content;
    } else log.push({ id, type, lengths: [content.length], text: content });
  }
  return log;
}

/**
 * The events after the one with this id, as for `placeAfter`. They are made one by one, since their texts are many times
 * as long as the stored form.
 */
export function* unfoldedAfter(log: CompactLog, id: number): Generator<EventText, void, undefined> {
  const first = log[0]?.id ?? 0;
  const seen = id > 0 && epochOfEvent(id) < epochOfEvent(first) ? first : id;
  for (const entry of log) {
    if (!('lengths' in entry)) {
      if (entry.id > seen) yield entry;
      continue;
    }
    const { type } = entry;
    let start = 0;
    for (const [index, length] of entry.lengths.entries()) {
      const content = entry.text.slice(start, start + length);
      start += length;
      if (entry.id + index > seen)
        yield { id: entry.id + index, type, data: JSON.stringify({ type, content }) };
    }
  }
}
