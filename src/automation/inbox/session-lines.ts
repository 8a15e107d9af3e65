import type { InboxMessage } from '../messages/inbox-message.js';

/** A message in the memory of this process. */
export interface WaitingMessage {
  readonly item: InboxMessage;
  /** When this process had it from the store. */
  readonly readAtMs: number;
  /** Of the last look for older messages of its session that are not here. */
  readonly pauseMs?: number;
  /** Called once it has ended here. */
  readonly onEnd?: (() => void) | undefined;
}

export interface SessionLinesParts {
  readonly begin: (waiting: WaitingMessage) => void;
  /** The same message without its payload. */
  readonly forget: (waiting: WaitingMessage) => WaitingMessage;
  /** Leaves a message to the store for a while. */
  readonly giveBack: (waiting: WaitingMessage) => void;
}

/** The messages of one session that are kept here, the oldest: their claims are renewed all the time. */
const lineMax = 200;

interface Entry {
  waiting: WaitingMessage;
  hasBegun: boolean;
}

/**
 * The messages of each session on this node, which begin one after the other: the next one begins when the session has the
 * turn of the one before it, or that one is over here. A message never waits for a newer one, so that no two wait for each
 * other.
 */
export class SessionLines {
  readonly #parts: SessionLinesParts;
  /** By tenant and session, in the order of acceptance. */
  readonly #lines = new Map<string, Entry[]>();
  constructor(parts: SessionLinesParts) {
    this.#parts = parts;
  }

  *executionIds(): Iterable<string> {
    for (const line of this.#lines.values()) for (const { waiting } of line) yield waiting.item.executionId;
  }

  ask(waiting: WaitingMessage): void {
    const { item } = waiting;
    const line = this.#lineOf(item);
    if (line.some((entry) => isOf(entry, item))) return;
    this.#lines.set(keyOf(item), line);
    const place = line.findLastIndex((entry) => seqOf(entry.waiting) <= seqOf(waiting)) + 1;
    // The first may wait for an hour, and any number behind it.
    const isLong = line[0]?.hasBegun === false;
    line.splice(place, 0, { waiting: isLong ? this.#parts.forget(waiting) : waiting, hasBegun: false });
    if (place === 0) this.#beginFirst(line);
    const newest = line.length > lineMax ? line.pop() : undefined;
    if (newest !== undefined) this.#parts.giveBack(newest.waiting);
  }

  /**
   * It keeps its place and begins again when it is told to, or sooner when one before it is over. Returns false for a
   * message that has no place, since its session has it.
   */
  pause(waiting: WaitingMessage): boolean {
    const line = this.#lineOf(waiting.item);
    const paused = line.find((entry) => isOf(entry, waiting.item));
    if (paused === undefined) return false;
    paused.waiting = waiting;
    paused.hasBegun = false;
    for (const entry of line)
      if (!entry.hasBegun && entry !== paused) entry.waiting = this.#parts.forget(entry.waiting);
    return true;
  }

  /** Begins a message that was paused, unless it has begun since or one is before it. */
  again({ item }: WaitingMessage): void {
    const line = this.#lineOf(item);
    if (line[0] !== undefined && isOf(line[0], item)) this.#beginFirst(line);
  }

  /** Its session has it, or it is over here in another way. */
  passed(item: InboxMessage): void {
    const line = this.#lineOf(item);
    const place = line.findIndex((entry) => isOf(entry, item));
    if (place < 0) return;
    line.splice(place, 1);
    if (line.length === 0) this.#lines.delete(keyOf(item));
    else this.#beginFirst(line);
  }

  #lineOf(item: InboxMessage): Entry[] {
    return this.#lines.get(keyOf(item)) ?? [];
  }

  #beginFirst([first]: readonly Entry[]): void {
    if (first === undefined || first.hasBegun) return;
    first.hasBegun = true;
    this.#parts.begin(first.waiting);
  }
}

/** Senders may choose the ids of sessions, and those of two tenants may be the same. */
function keyOf({ scope, sessionId }: InboxMessage): string {
  return `${scope.tenantId} ${sessionId}`;
}

function isOf({ waiting }: Entry, { executionId }: InboxMessage): boolean {
  return waiting.item.executionId === executionId;
}

function seqOf({ item: { row } }: WaitingMessage): number {
  return row?.seq ?? 0;
}
