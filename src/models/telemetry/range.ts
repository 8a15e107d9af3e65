/** Time ranges as the endpoints accept them. Reports read whole hours from sums and the rest from rows. */
import { dayMs, type Moment, momentText, type Range, rangeOf } from '../../http/operations/index.js';

export { dayMs, type Moment, momentText, type Range, rangeOf };

const hourMs = 3_600_000;

/** The whole hours in a range; start and end are equal if there are none. */
export function wholeHours({ from, to }: Range): Range {
  const first = Math.ceil(from.getTime() / hourMs) * hourMs;
  const last = Math.floor(to.getTime() / hourMs) * hourMs;
  return first < last ? { from: new Date(first), to: new Date(last) } : { from: to, to };
}

/** The start of each hour that the range touches. */
export function hoursOf({ from, to }: Range): readonly Date[] {
  const first = Math.floor(from.getTime() / hourMs) * hourMs;
  const count = Math.ceil((to.getTime() - first) / hourMs);
  return Array.from({ length: count }, (_, nth) => new Date(first + nth * hourMs));
}

/** The last `count` hours, including the current one. */
export function lastHours(count: number, nowMs: number): Range {
  const present = Math.floor(nowMs / hourMs) * hourMs;
  return { from: new Date(present - (count - 1) * hourMs), to: new Date(present + hourMs) };
}
