import { ClusterError, type Time } from '../../../cluster/index.js';
import type { IfRefused, PlainActivation, SessionActivation } from './parts.js';
import type { SessionWritten } from './rows.js';

/**
 * An actor's memory is ahead of its writes. If a write is refused, for whatever reason, that memory is wrong: the
 * activation ends, and the next call loads the stored state. From then on it may neither act nor write, except for what
 * follows a write that is refused for good.
 */
export class EndingActivation implements SessionActivation {
  readonly #inner: PlainActivation;
  readonly #time: Pick<Time, 'soon'>;
  #isEnding = false;

  constructor(inner: PlainActivation, time: Pick<Time, 'soon'>) {
    this.#inner = inner;
    this.#time = time;
  }

  get address(): SessionActivation['address'] {
    return this.#inner.address;
  }

  get slot(): SessionActivation['slot'] {
    return this.#inner.slot;
  }

  get process(): SessionActivation['process'] {
    return this.#inner.process;
  }

  get epoch(): SessionActivation['epoch'] {
    return this.#inner.epoch;
  }

  get loaded(): SessionActivation['loaded'] {
    return this.#inner.loaded;
  }

  end(...[reason]: Parameters<SessionActivation['end']>): void {
    this.#inner.end(reason);
  }

  mayAct(): boolean {
    return !this.#isEnding && this.#inner.mayAct();
  }

  effectsClear(...[signal]: Parameters<SessionActivation['effectsClear']>): Promise<void> {
    return this.#inner.effectsClear(signal);
  }

  holds(bytes: number): void {
    this.#inner.holds(bytes);
  }

  closeWrites(...[error]: Parameters<SessionActivation['closeWrites']>): void {
    this.#inner.closeWrites(error);
  }

  stamp(...[stamp]: Parameters<SessionActivation['stamp']>): Promise<void> {
    return this.#inner.stamp(stamp);
  }

  async write(
    ...[write, { ifRefused, ...options } = {}]: Parameters<SessionActivation['write']>
  ): ReturnType<SessionActivation['write']> {
    if (this.#isEnding) throw ending();
    try {
      return await this.#inner.write(write, options);
    } catch (error) {
      await this.#end(error, ifRefused);
      throw error;
    }
  }

  /**
   * Of several writes that fail, the first decides what follows. When an activation ends, its callers ask again and would be
   * refused again, so a refusal for good is handled before the end.
   */
  async #end(error: unknown, ifRefused: IfRefused | undefined): Promise<void> {
    if (this.#isEnding) return;
    this.#isEnding = true;
    if (!(error instanceof ClusterError) || error.tag !== 'write_rejected') return this.#inner.end('failed');
    try {
      await ifRefused?.(this.#inner, error);
    } finally {
      this.#inner.closeWrites(ending());
      this.#time.soon(() => this.#inner.end('failed'));
    }
  }

  async writeKnown(...given: Parameters<SessionActivation['write']>): Promise<SessionWritten> {
    const committed = await this.write(...given);
    if (committed.outcome === 'committed') return committed.result;
    this.#inner.end('failed');
    throw new ClusterError(
      'outcome_unknown',
      'the session was written, but the store lost its answer; repeat the call with the same execution id',
    );
  }
}

function ending(): ClusterError {
  return new ClusterError('fenced', 'the activation ends, because the store refused a write of it');
}
