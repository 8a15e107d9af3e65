import leven from 'leven';

/** Typing errors are mostly one or two letters; a name that differs by more than a third is another name. */
const differenceMax = 3;
/** Longer ones are no names, and comparing two takes the product of their lengths. */
const charsMax = 100;

/** The known names that a mistyped one may mean, nearest first. */
export function closestNames(given: string, known: Iterable<string>, most: number): readonly string[] {
  if (given.length > charsMax) return [];
  const name = given.toLowerCase();
  const room = Math.min(differenceMax, Math.floor(name.length / 3));
  const near: { readonly candidate: string; readonly difference: number }[] = [];
  for (const candidate of known) {
    if (Math.abs(candidate.length - name.length) > room) continue;
    const difference = differenceOf(name, candidate.toLowerCase(), room + 1);
    if (difference <= room) near.push({ candidate, difference });
  }
  return near
    .toSorted((one, other) => one.difference - other.difference)
    .slice(0, most)
    .map(({ candidate }) => candidate);
}

function differenceOf(given: string, known: string, most: number): number {
  return isSwapped(given, known) ? 1 : leven(given, known, { maxDistance: most });
}

/** Two neighbouring letters in the wrong order are one typing error, and two differences for `leven`. */
function isSwapped(given: string, known: string): boolean {
  if (given.length !== known.length) return false;
  let at = 0;
  while (at < given.length && given[at] === known[at]) at += 1;
  const swapped = given.slice(0, at) + (given[at + 1] ?? '') + (given[at] ?? '') + given.slice(at + 2);
  return at < given.length && swapped === known;
}

/** The known name that a mistyped one most likely means; undefined where none is near. */
export function closestName(given: string, known: Iterable<string>): string | undefined {
  return closestNames(given, known, 1)[0];
}

/** ` Did you mean "x"?`, or nothing: for the end of an error message. */
export function didYouMean(given: string, known: Iterable<string>): string {
  return askedBack(closestNames(given, known, 1));
}

/** ` Did you mean "x", "y" or "z"?`, or nothing. */
export function askedBack(names: readonly string[]): string {
  const quoted = names.map((name) => `"${name}"`);
  const last = quoted.pop();
  if (last === undefined) return '';
  return ` Did you mean ${quoted.length === 0 ? last : `${quoted.join(', ')} or ${last}`}?`;
}

/** For lists that always name somebody. Relative to the length, since short names are near to everything; a common beginning counts more than the rest. */
export function relativeDistance(given: string, known: string): number {
  const [one, other] = [given.slice(0, charsMax).toLowerCase(), known.toLowerCase()];
  let common = 0;
  while (common < one.length && one[common] === other[common]) common += 1;
  return (leven(one, other) - common / 2) / Math.max(1, one.length, other.length);
}
