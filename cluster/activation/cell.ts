import type { WriteHolder } from '../fencing/group-commit.js';
import type { ProcessId, Slot } from '../ids/ids.js';
import type { Mailbox } from '../mailbox/mailbox.js';
import type { AnswerMemory } from './answer-memory.js';
import type { Call } from './call.js';
import type { Instance, Kind } from './kind.js';
import type { CellState } from './state.js';
import { mayBecome } from './state.js';

/** What few cells have at a time, so that the many idle ones stay small. */
interface Extra {
  /** Running calls besides the one in the turn lane: control calls, turns that let the next in. */
  readonly beside: Set<Call>;
  /** While loading: the process whose turn must end first. */
  busyAt: ProcessId | undefined;
  /** Told once when the cell is gone. */
  readonly onGone: (() => void)[];
  /** Made when the loading waits for somebody. */
  abort: AbortController | undefined;
}

/** One actor in memory. Fields only; `ActorTable` moves it through its states. */
export class Cell {
  readonly kind: Kind;
  /** `group NUL key`; also the key in the table, so that the text is held once. */
  readonly text: string;
  readonly slot: Slot;
  #state: CellState = 'loading';
  instance: Instance | undefined = undefined;
  holder: WriteHolder | undefined = undefined;
  mailbox: Mailbox<Call> | undefined = undefined;
  answers: AnswerMemory | undefined = undefined;
  /** Occupies the turn lane. */
  running: Call | undefined = undefined;
  /** In the queue of cells that have a turn to start. */
  queued = false;
  /** Ticks of the residents' clock at the last call. */
  usedAt = -1;
  older: Cell | undefined = undefined;
  newer: Cell | undefined = undefined;
  #extra: Extra | undefined = undefined;

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
    return this.running !== undefined || (this.#extra !== undefined && this.#extra.beside.size > 0);
  }

  get waiting(): number {
    return this.mailbox?.waiting ?? 0;
  }

  get extra(): Extra {
    return (this.#extra ??= {
      beside: new Set(),
      busyAt: undefined,
      onGone: [],
      abort: undefined,
    });
  }

  get busyAt(): ProcessId | undefined {
    return this.#extra?.busyAt;
  }

  /** Forgets the call, if it ran beside the turn lane. */
  leaveBeside(call: Call): void {
    const extra = this.#extra;
    if (extra === undefined || !extra.beside.delete(call) || extra.beside.size > 0) return;
    if (extra.busyAt === undefined && extra.onGone.length === 0) this.#extra = undefined;
  }

  /** Every call that a handler works on. */
  runningCalls(): Call[] {
    const calls = [...(this.#extra?.beside ?? [])];
    if (this.running !== undefined) calls.push(this.running);
    return calls;
  }

  takeGoneListeners(): (() => void)[] {
    return this.#extra?.onGone.splice(0) ?? [];
  }

  /** Aborted when the cell is gone before it was loaded. */
  get loadingSignal(): AbortSignal {
    return (this.extra.abort ??= new AbortController()).signal;
  }

  abortLoading(): void {
    this.#extra?.abort?.abort();
  }
}
