import { createHash, timingSafeEqual } from 'node:crypto';
import { inspect } from 'node:util';

const shown = '[secret]';

/**
 * A secret that cannot be printed by accident. Text, JSON, `util.inspect`, templates, spreading and cloning all give
 * `[secret]`; only `reveal()` returns the value, and that name is easy to search for.
 */
export class SecretValue {
  /** The only property that copies of the object include. */
  readonly printed: string = shown;
  readonly #revealed: string;

  constructor(value: string) {
    this.#revealed = value;
  }

  reveal(): string {
    return this.#revealed;
  }

  /** Compares in constant time, so that the duration does not reveal where the two differ. */
  equals(other: string): boolean {
    return timingSafeEqual(digest(this.#revealed), digest(other));
  }

  toString(): string {
    return shown;
  }

  toJSON(): string {
    return shown;
  }

  [Symbol.toPrimitive](): string {
    return shown;
  }

  [inspect.custom](): string {
    return shown;
  }
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text, 'utf8').digest();
}
