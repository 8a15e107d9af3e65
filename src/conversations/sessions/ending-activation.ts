import { ClusterError } from '../../../cluster/index.js';
import type { PlainActivation, SessionActivation } from './parts.js';
import type { SessionWritten } from './rows.js';

/**
 * An actor's memory is ahead of its writes. If a write is refused, for whatever reason, that memory is wrong: the
 * activation ends, and the next call loads the stored state.
 */
export class EndingActivation implements SessionActivation {
  readonly #inner: PlainActivation;

  constructor(inner: PlainActivation) {
    this.#inner = inner;
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
    return this.#inner.mayAct();
  }

  effectsClear(...[signal]: Parameters<SessionActivation['effectsClear']>): Promise<void> {
    return this.#inner.effectsClear(signal);
  }

  holds(bytes: number): void {
    this.#inner.holds(bytes);
  }

  stamp(...[stamp]: Parameters<SessionActivation['stamp']>): Promise<void> {
    return this.#inner.stamp(stamp);
  }

  async write(
    ...[write, options]: Parameters<SessionActivation['write']>
  ): ReturnType<SessionActivation['write']> {
    try {
      return await this.#inner.write(write, options);
    } catch (error) {
      this.#inner.end('failed');
      throw error;
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
