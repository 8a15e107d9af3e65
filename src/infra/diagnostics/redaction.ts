import { looksLikeCredential, withoutCredentials } from './credential-shapes.js';

export { looksLikeCredential };

export const redacted = '[REDACTED]';

const secretName =
  /password|passwd|pwd|secret|token|authorization|credential|cookie|api[-_ ]?key|private[-_ ]?key/i;
const countOfTokens = /tokens(?:_|$)|_token_count$/i;

/** True for a name that suggests a secret, in any case, with `-`, `_` or nothing between its words. */
export function isSecretName(name: string): boolean {
  return secretName.test(name);
}

/**
 * One named value of a flat object from outside (`context`, `metadata`): unchanged or replaced. The check by name and
 * shape is strict, so `max_tokens: 5` is replaced too.
 */
export function redactValue<Value>(name: string, value: Value): Value | typeof redacted {
  if (isSecretName(name)) return redacted;
  return typeof value === 'string' && looksLikeCredential(value) ? redacted : value;
}

/** Replaces every credential-shaped part of the text. */
export function redactText(text: string): string {
  return withoutCredentials(text, redacted);
}

export interface RedactionBounds {
  readonly depthMax: number;
  /** Per object or list. */
  readonly entriesMax: number;
  /** For the whole value. */
  readonly valuesMax: number;
  readonly textMax: number;
}

/** Enough for any record that people read, and small enough that a hostile one costs microseconds. */
const defaultBounds: RedactionBounds = { depthMax: 8, entriesMax: 100, valuesMax: 1_000, textMax: 4_096 };

/**
 * Copies any value so that it is safe to log and store: replaces values with secret-like names and credential-shaped
 * text, shows only the length of bytes, and cuts at the bounds. Never throws, whatever getters and `toJSON` do.
 */
export function redactDeep(value: unknown, bounds: Partial<RedactionBounds> = {}): unknown {
  return new Redaction({ ...defaultBounds, ...bounds }).copy(value, 0);
}

class Redaction {
  readonly #bounds: RedactionBounds;
  #left: number;

  constructor(bounds: RedactionBounds) {
    this.#bounds = bounds;
    this.#left = bounds.valuesMax;
  }

  copy(value: unknown, depth: number): unknown {
    this.#left -= 1;
    if (this.#left < 0) return '[cut]';
    switch (typeof value) {
      case 'string':
        return this.#text(value);
      case 'bigint':
        return value.toString();
      case 'symbol':
      case 'function':
        return undefined;
      case 'object':
        return value === null ? null : this.#object(value, depth);
      default:
        return value;
    }
  }

  #text(text: string): string {
    const { textMax } = this.#bounds;
    if (text.length <= textMax) return redactText(text);
    // A credential split by the cut loses its shape, so 512 characters behind the cut are searched too and then dropped.
    return `${redactText(text.slice(0, textMax + 512))
      .slice(0, -512)
      .slice(0, textMax)}[cut]`;
  }

  #object(value: object, depth: number): unknown {
    if (depth >= this.#bounds.depthMax) return '[cut]';
    try {
      if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
      if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return `[${value.byteLength} bytes]`;
      if (value instanceof Error) return this.#error(value, depth);
      if ('toJSON' in value && typeof value.toJSON === 'function')
        return this.copy(value.toJSON() as unknown, depth + 1);
      if (value instanceof Map) return this.#entries(value.entries(), depth);
      if (Array.isArray(value) || value instanceof Set) return this.#list(value, depth);
      return this.#entries(Object.entries(value), depth);
    } catch {
      // A throwing getter or toJSON must not break the caller that only wants to log.
      return '[unreadable]';
    }
  }

  #list(items: Iterable<unknown>, depth: number): unknown[] {
    const copied: unknown[] = [];
    for (const item of items) {
      if (copied.length >= this.#bounds.entriesMax || this.#left <= 0) {
        copied.push('[cut]');
        break;
      }
      copied.push(this.copy(item, depth + 1));
    }
    return copied;
  }

  #entries(entries: Iterable<readonly [unknown, unknown]>, depth: number): Record<string, unknown> {
    const copied: [string, unknown][] = [];
    for (const [key, item] of entries) {
      const name = this.#text(String(key));
      if (copied.length >= this.#bounds.entriesMax || this.#left <= 0) {
        copied.push(['[cut]', true]);
        break;
      }
      const hidden = item !== undefined && item !== null && isSecretName(name) && !isCount(name, item);
      copied.push([name, hidden ? redacted : this.copy(item, depth + 1)]);
    }
    return Object.fromEntries(copied);
  }

  #error(error: Error, depth: number): Record<string, unknown> {
    const { name, message, stack, cause, ...own } = error as Error & Record<string, unknown>;
    return {
      name: this.#text(name),
      message: this.#text(message),
      ...this.#entries(Object.entries(own), depth),
      ...(stack === undefined ? {} : { stack: this.#text(stack) }),
      ...(cause === undefined ? {} : { cause: this.copy(cause, depth + 1) }),
    };
  }
}

/** `total_tokens: 17` is a count, not a secret. */
function isCount(name: string, value: unknown): boolean {
  return typeof value === 'number' && countOfTokens.test(name);
}
