import leven from 'leven';

/** Typing errors are mostly one or two letters; a name that differs by more than a third is another name. */
const differenceMax = 3;

/** The known name that a mistyped one most likely means; undefined where none is near. */
export function closestName(given: string, known: Iterable<string>): string | undefined {
  const name = given.toLowerCase();
  let closest: string | undefined;
  let least = Math.min(differenceMax, Math.floor(name.length / 3)) + 1;
  for (const candidate of known) {
    const difference = leven(name, candidate.toLowerCase(), { maxDistance: least });
    if (difference < least) {
      least = difference;
      closest = candidate;
    }
  }
  return closest;
}

/** ` Did you mean "x"?`, or nothing: for the end of an error message. */
export function didYouMean(given: string, known: Iterable<string>): string {
  const closest = closestName(given, known);
  return closest === undefined ? '' : ` Did you mean "${closest}"?`;
}
