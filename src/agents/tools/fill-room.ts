import { ToolError } from './tool-error.js';

/** Four times what an argument of the largest request can have. */
export const filledCharsMax = 4 * 1024 * 1024;

/**
 * How many characters may still be filled in. A template of 64 KB names a value thousands of times, and a model or a
 * caller decides how long the value is: without a bound one call would need gigabytes.
 */
export class FillRoom {
  #left = filledCharsMax;

  take(chars: number): void {
    this.#left -= chars;
    if (this.#left >= 0) return;
    throw new ToolError(
      'refused',
      `The arguments and the context would make a request of more than ${filledCharsMax} characters.`,
    );
  }
}

/** How long a value is as text. */
export function charsOf(value: unknown): number {
  if (typeof value === 'string') return value.length;
  return typeof value === 'object' && value !== null ? JSON.stringify(value).length : 0;
}
