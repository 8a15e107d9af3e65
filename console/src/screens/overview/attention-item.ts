import type { Tone } from '../../ui/badge';

/** One thing that a person should look at. */
export interface Attention {
  readonly id: string;
  readonly tone: Tone;
  readonly title: string;
  readonly detail: string;
  /** The address that shows it, with its filters. */
  readonly path: string;
}

/** The longest page of a list. */
export const pageMax = 100;

export const many = (rows: readonly unknown[], more: unknown): string =>
  more === undefined || more === null ? String(rows.length) : `${rows.length}+`;
export const plural = (text: string, one: string, others: string): string => (text === '1' ? one : others);

/** The cursor of the next page, whatever the list calls it. */
export function nextOf(page: object): unknown {
  return (page as Readonly<Record<string, unknown>>)['next_cursor'];
}
