import type { Time } from '../../cluster/index.js';
import type { UnsentFrames } from './unsent-frames.js';

/**
 * The addresses of one stream that changed and whose client has not been told. A client that has not taken what it was
 * told before hears of each address once, when it has: it reads the row then, which shows the last of the changes.
 */
export class WaitingUpdates {
  readonly #addresses: ReadonlySet<string>;
  readonly #unsent: Pick<UnsentFrames, 'taken'>;
  readonly #time: Pick<Time, 'soon'>;
  readonly #changed = new Set<string>();
  #tell: ((uri: string) => void) | undefined;
  #isAboutToTell = false;
  #isOver = false;

  constructor(addresses: Iterable<string>, unsent: Pick<UnsentFrames, 'taken'>, time: Pick<Time, 'soon'>) {
    this.#addresses = new Set(addresses);
    this.#unsent = unsent;
    this.#time = time;
  }

  /** Tells what changed and what will change, until `stop`. */
  begin(tell: (uri: string) => void): void {
    this.#tell = tell;
    this.#tellLater();
  }

  add(uri: string): void {
    if (this.#isOver || !this.#addresses.has(uri)) return;
    this.#changed.add(uri);
    this.#tellLater();
  }

  stop(): void {
    this.#isOver = true;
    this.#changed.clear();
  }

  /** A turn of the event loop later, when the frames that were told before are counted. */
  #tellLater(): void {
    if (this.#tell === undefined || this.#changed.size === 0 || this.#isAboutToTell) return;
    this.#isAboutToTell = true;
    this.#time.soon(() => void this.#tellWhenTaken());
  }

  async #tellWhenTaken(): Promise<void> {
    await this.#unsent.taken();
    this.#isAboutToTell = false;
    const changed = [...this.#changed];
    this.#changed.clear();
    if (!this.#isOver) for (const uri of changed) this.#tell?.(uri);
  }
}
