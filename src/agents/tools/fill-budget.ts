import { ToolError } from './tool-error.js';

/** Four times the length of an argument in the largest request. */
export const filledCharsMax = 4 * 1024 * 1024;

/**
 * Limits the characters that are filled in. A template of 64 KB can name a value thousands of times, and a model or
 * a caller decides its length: without a limit one call could need gigabytes.
 */
export class FillBudget {
  #left = filledCharsMax;

  take(chars: number): void {
    this.#left -= chars;
    if (this.#left >= 0) return;
    throw new ToolError(
      'refused',
      `The request would have more than ${filledCharsMax} characters. Shorten the arguments or the context values.`,
    );
  }
}

/** The length of a value as text. */
export function charsOf(value: unknown): number {
  if (typeof value === 'string') return value.length;
  return typeof value === 'object' && value !== null ? JSON.stringify(value).length : 0;
}
