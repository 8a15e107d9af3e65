import type { WriteHolder } from '../fencing/group-commit.js';
import type { ProcessId, Slot } from '../ids/ids.js';
import type { Mailbox } from '../mailbox/mailbox.js';
import type { AnswerMemory } from './answer-memory.js';
import type { Call } from './call.js';
import type { Instance, Kind } from './kind.js';
import type { CellState } from './state.js';
import { mayBecome } from './state.js';

/** Fields that few cells need at a time, kept apart so that the many idle cells stay small. */
interface RareFields {
  /** Running calls outside the turn lane: control calls, and turns that called `letNextIn`. */
  readonly parallel: Set<Call>;
  /** How many of them are control calls with one answer, and how many are streams in the control lane. */
  controls: number;
  streams: number;
  /** While loading: the process whose running turn must end first. */
  busyAt: ProcessId | undefined;
  /** Called once when the cell is removed from the table. */
  readonly onGone: Set<() => void>;
  /** Created when the load waits for another process. */
  abort: AbortController | undefined;
}

/** One actor in memory. It only holds fields; `ActorTable` changes its state. */
export class Cell {
  readonly kind: Kind;
  /** `group NUL key`. Also the key in the table, so that the string is stored once. */
  readonly text: string;
  readonly slot: Slot;
  #state: CellState = 'loading';
  instance: Instance | undefined = undefined;
  holder: WriteHolder | undefined = undefined;
  mailbox: Mailbox<Call> | undefined = undefined;
  answers: AnswerMemory | undefined = undefined;
  /** The call that occupies the turn lane. */
  running: Call | undefined = undefined;
  /** In the dispatcher's queue of cells with a turn to start. */
  queued = false;
  /** Tick of the last call. */
  usedAt = -1;
  /** What the actor holds by its own account. */
  bytes = 0;
  older: Cell | undefined = undefined;
  newer: Cell | undefined = undefined;
  #extra: RareFields | undefined = undefined;

  constructor(kind: Kind, text: string, slot: Slot) {
    this.kind = kind;
    this.text = text;
    this.slot = slot;
  }

  get state(): CellState {
    return this.#state;
  }

  become(state: CellState): void {
    if (!mayBecome(this.#state, state)) throw new Error(`a cell cannot become ${state} from ${this.#state}`);
    this.#state = state;
  }

  get group(): string {
    return this.text.slice(0, this.text.indexOf('\0'));
  }

  get key(): string {
    return this.text.slice(this.text.indexOf('\0') + 1);
  }

  /** Whether a handler runs. */
  get busy(): boolean {
    return this.running !== undefined || (this.#extra !== undefined && this.#extra.parallel.size > 0);
  }

  get waiting(): number {
    return this.mailbox?.waiting ?? 0;
  }

  /** Whether it may leave memory. */
  get isIdle(): boolean {
    return this.#state === 'ready' && !this.busy && this.waiting === 0;
  }

  get extra(): RareFields {
    return (this.#extra ??= {
      parallel: new Set(),
      controls: 0,
      streams: 0,
      busyAt: undefined,
      onGone: new Set(),
      abort: undefined,
    });
  }

  get busyAt(): ProcessId | undefined {
    return this.#extra?.busyAt;
  }

  /** The call runs outside the turn lane. */
  addParallel(call: Call): void {
    const { extra } = this;
    extra.parallel.add(call);
    count(extra, call, 1);
  }

  /** Removes the call if it ran outside the turn lane. */
  removeParallel(call: Call): void {
    const extra = this.#extra;
    if (extra === undefined || !extra.parallel.delete(call)) return;
    count(extra, call, -1);
    if (extra.parallel.size > 0) return;
    if (extra.busyAt === undefined && extra.onGone.size === 0) this.#extra = undefined;
  }

  /** Every call whose handler is running. */
  runningCalls(): Call[] {
    const calls = [...(this.#extra?.parallel ?? [])];
    if (this.running !== undefined) calls.push(this.running);
    return calls;
  }

  /** Calls `action` once it is gone, or at once; returns the function that ends the wait. */
  whenGone(action: () => void): () => void {
    if (this.#state === 'gone') {
      action();
      return () => undefined;
    }
    // A function of its own, because two may wait with the same action.
    const listener = (): void => action();
    this.extra.onGone.add(listener);
    return () => this.#extra?.onGone.delete(listener);
  }

  takeGoneListeners(): (() => void)[] {
    const listeners = [...(this.#extra?.onGone ?? [])];
    this.#extra?.onGone.clear();
    return listeners;
  }

  /** Calls whose handlers run outside the turn lane. */
  get parallel(): number {
    return this.#extra?.parallel.size ?? 0;
  }

  /** Running calls in the control lane that a call of this form is counted with. */
  besides({ streams }: Pick<Call, 'streams'>): number {
    return (streams ? this.#extra?.streams : this.#extra?.controls) ?? 0;
  }

  /** Turns that run beside another one. */
  get turnsBeside(): number {
    const extra = this.#extra;
    return extra === undefined ? 0 : extra.parallel.size - extra.controls - extra.streams;
  }

  /** Aborted if the cell is removed before its load has finished. */
  get loadingSignal(): AbortSignal {
    return (this.extra.abort ??= new AbortController()).signal;
  }

  abortLoading(): void {
    this.#extra?.abort?.abort();
  }
}

function count(extra: RareFields, { lane, streams }: Call, change: number): void {
  if (lane === 'turn') return;
  if (streams) extra.streams += change;
  else extra.controls += change;
}
