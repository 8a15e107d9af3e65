import type { Time } from '../../../cluster/index.js';
import { publishedIn } from '../turns/index.js';
import { LiveTurn, metadataOf } from './live-turn.js';
import { refuseAbove, watchersMax } from './reader-limits.js';
import { Readers } from './readers.js';
import type { ExecutionRow, MessageRow, SessionLoaded, SessionRow } from './rows.js';

/** Limits of an actor's memory, in messages and characters: thousands of sessions are in memory. */
const tailMax = 100;
const tailCharactersMax = 500_000;
/** V8 stores a text in one byte for each character if all are Latin-1, otherwise in two. */
const bytesOfCharacterMax = 2;
/** A short message is mostly the objects and ids around its text: 230 bytes were measured. */
const bytesOfMessage = 250;
/** Finished turns whose events stay in memory for the session's monitors. */
const finishedMax = 4;
/** So long after the last monitor has gone, which comes back if it has only lost its link. */
const returningMs = 10_000;
/** Ids of finished turns that are recognized without a query. */
const endedMax = 1_000;

/** A session in memory: its row, the end of its conversation, and its queue of turns. */
export class SessionState {
  session: SessionRow | undefined;
  /** Set while the session is being erased, until that is durable. */
  erasing: Promise<void> | undefined;
  /** How many people were erased from the session in this activation. */
  erasures = 0;
  readonly readers: Readers;
  readonly #turns = new Map<string, LiveTurn>();
  #finished: string[] = [];
  readonly #ended = new Set<string>();
  #knowsAllEnded: boolean;
  readonly #listeners = new Set<() => void>();
  /** Set while a monitor may come back. */
  #returning: { cancel(): void } | undefined;
  #isOver = false;
  #tail: MessageRow[];
  #tailCharacters = 0;
  readonly #holds: (bytes: number) => void;
  readonly #time: Time;

  constructor(loaded: SessionLoaded, epoch: number, time: Time, holds: (bytes: number) => void) {
    this.session = countedSession(loaded);
    this.#knowsAllEnded = loaded.session === undefined;
    this.#holds = holds;
    this.#time = time;
    this.#tail = bounded(loaded.messages);
    this.#count(charactersOf(this.#tail));
    this.readers = new Readers(time);
    for (const row of loaded.unfinished) {
      const steps = loaded.steps.filter(({ execution_id: id }) => id === row.id);
      const approvals = loaded.approvals.filter(({ execution_id: id }) => id === row.id);
      const turn = new LiveTurn(row, epoch, steps, approvals);
      const isHeld = row.input.response_format !== undefined || row.input.holds_text === true;
      if (!isHeld) turn.sentText = publishedIn(turn.steps);
      // Appended before any reader: a reader from an older owner has seen this event, and only this one.
      turn.log.append(metadataOf(row));
      this.add(turn);
    }
  }

  get tail(): readonly MessageRow[] {
    return this.#tail;
  }

  turn(executionId: string): LiveTurn | undefined {
    return this.#turns.get(executionId);
  }

  /** Unfinished turns in the order of their arrival. */
  get queue(): readonly LiveTurn[] {
    return [...this.#turns.values()].filter(({ finished }) => !finished);
  }

  /** The turn to work on; undefined while the first of the queue waits for people, and the others behind it. */
  get next(): LiveTurn | undefined {
    const [first] = this.queue;
    return first?.row.status === 'waiting' ? undefined : first;
  }

  get running(): LiveTurn | undefined {
    return this.queue.find(({ row }) => row.status === 'running');
  }

  /** The turn that waits for people. It has begun like the one that runs, and no other runs beside it. */
  get waiting(): LiveTurn | undefined {
    return this.queue.find(({ row }) => row.status === 'waiting');
  }

  /** By its turns, of which some may not be stored yet, and by its last message. */
  isUsedSince(ms: number): boolean {
    const { session } = this;
    return this.queue.length > 0 || (session !== undefined && Date.parse(session.last_interaction) >= ms);
  }

  add(turn: LiveTurn): void {
    this.#turns.set(turn.row.id, turn);
    turn.log.onChange = () => this.wake();
    this.#report();
  }

  /** The characters of the turns that run and wait. */
  get queueCharacters(): number {
    return sumOfTurns(this.queue);
  }

  wake(): void {
    for (const listener of this.#listeners) listener();
  }

  /** Refuses a reader of the whole session above the limit. */
  admitWatcher(): void {
    refuseAbove(watchersMax, this.#listeners.size, 'watch it', this.#time);
  }

  /** Called for every event of every turn. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    this.#returning?.cancel();
    this.#returning = undefined;
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size > 0 || this.#isOver) return;
      this.#returning = this.#time.after(returningMs, () => this.#forgetFinished());
    };
  }

  /** Marks the turn as stored. It stays in memory for monitors that may not have seen all of it. */
  ended({ row: { id } }: LiveTurn): void {
    this.#ended.add(id);
    if (this.#ended.size > endedMax) {
      this.#ended.clear();
      this.#knowsAllEnded = false;
    }
    this.#finished.push(id);
    const isWatched = this.#listeners.size > 0 || this.#returning !== undefined;
    this.#keepFinished(isWatched ? finishedMax : 0);
  }

  /** Of an activation that has ended: no monitor comes back to it. */
  end(): void {
    this.#isOver = true;
    this.#forgetFinished();
  }

  #forgetFinished(): void {
    this.#returning?.cancel();
    this.#returning = undefined;
    this.#keepFinished(0);
  }

  #keepFinished(count: number): void {
    for (const id of this.#finished.splice(0, this.#finished.length - count)) this.#turns.delete(id);
    this.#report();
  }

  /** Whether this activation has seen the turn end. */
  hasEnded(executionId: string): boolean {
    return this.#ended.has(executionId);
  }

  /** The session did not exist before this activation, which remembers every turn that has ended since. */
  get knowsAllEnded(): boolean {
    return this.#knowsAllEnded;
  }

  drop(turn: LiveTurn): void {
    this.#turns.delete(turn.row.id);
    this.#report();
  }

  remember(messages: readonly MessageRow[]): void {
    for (const message of messages) this.#tail.push(message);
    let characters = this.#tailCharacters + charactersOf(messages);
    // In place: a long conversation gives up a message with each new one.
    while (this.#tail.length > tailMax || (characters > tailCharactersMax && this.#tail.length > 1)) {
      const oldest = this.#tail.shift();
      if (oldest !== undefined) characters -= charactersIn(oldest);
    }
    this.#count(characters);
  }

  /** Leaves out the messages of an erased person and their turns. */
  forgetTurns(turns: readonly LiveTurn[]): void {
    const ids = new Set(turns.map(({ row }) => row.id));
    for (const id of ids) this.#turns.delete(id);
    this.#finished = this.#finished.filter((id) => !ids.has(id));
    this.#report();
    this.wake();
  }

  replaceTail(messages: readonly MessageRow[]): void {
    this.#tail = bounded(messages);
    this.#count(charactersOf(this.#tail));
  }

  #count(characters: number): void {
    this.#tailCharacters = characters;
    this.#report();
  }

  #report(): void {
    const messages = this.#tail.length + this.#turns.size;
    const characters = this.#tailCharacters + sumOfTurns(this.#turns.values());
    this.#holds(messages * bytesOfMessage + characters * bytesOfCharacterMax);
  }

  forgetAll(): void {
    this.session = undefined;
    this.#tail = [];
    this.#turns.clear();
    this.#finished.length = 0;
    this.#count(0);
    this.wake();
  }

  /** A copy, so that turns can be added and removed during the iteration. */
  turns(): readonly LiveTurn[] {
    return [...this.#turns.values()];
  }

  allTurns(): IterableIterator<LiveTurn> {
    return this.#turns.values();
  }
}

export function change(turn: LiveTurn, changes: Partial<ExecutionRow>): void {
  turn.row = { ...turn.row, ...changes };
}

/** Adds the unfinished turns to the session's counts, because their rows are written before the session's. */
function countedSession({ session, messages, unfinished }: SessionLoaded): SessionRow | undefined {
  if (session === undefined) return undefined;
  return {
    ...session,
    last_message: Math.max(session.last_message, messages.at(-1)?.number ?? 0),
    last_arrival: unfinished.reduce((last, { arrival }) => Math.max(last, arrival), session.last_arrival),
  };
}

/** The newest messages within the limits, but always the last one. */
function bounded(messages: readonly MessageRow[]): MessageRow[] {
  let characters = 0;
  const older = messages.slice(-tailMax).findLastIndex((message, at, all) => {
    characters += charactersIn(message);
    return characters > tailCharactersMax && at < all.length - 1;
  });
  return messages.slice(-tailMax).slice(older + 1);
}

function charactersOf(messages: readonly MessageRow[]): number {
  return messages.reduce((sum, message) => sum + charactersIn(message), 0);
}

function charactersIn({ content, declared_context: context, metadata }: MessageRow): number {
  return content.length + charactersAsJson(context) + charactersAsJson(metadata);
}

function sumOfTurns(turns: Iterable<LiveTurn>): number {
  let characters = 0;
  for (const { row } of turns) characters += charactersOfTurn(row.input);
  return characters;
}

export function charactersOfTurn({
  message,
  declared_context: context,
}: Pick<ExecutionRow['input'], 'message' | 'declared_context'>): number {
  return message.length + charactersAsJson(context);
}

/** Most messages have neither a context nor metadata. */
function charactersAsJson(value: object | null): number {
  return value === null || Object.keys(value).length === 0 ? 0 : JSON.stringify(value).length;
}
