// The test files at places of dist/test.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

/**
 * @param {readonly string[]} places files or folders
 * @returns {string[]} in the order of their names, each once
 */
export function testFiles(places) {
  const files = places.flatMap((place) => {
    if (statSync(place, { throwIfNoEntry: false })?.isDirectory() !== true) return [place];
    return readdirSync(place, { recursive: true, encoding: 'utf8' }).map((name) => join(place, name));
  });
  return [...new Set(files)]
    .filter((file) => file.endsWith('.test.js') && statSync(file, { throwIfNoEntry: false })?.isFile())
    .toSorted((one, other) => (one < other ? -1 : 1));
}

const separator = ' › ';

/**
 * The file that declares a test, and the title there. ava puts the name of the process's file before it, which says
 * little if several files share the process. Titles that are put together at run time are not found.
 * @param {readonly string[]} files
 * @param {string} marked as ava prints it: `packs › unit › http › a title`
 */
export function declarationOf(files, marked) {
  const words = marked.split(separator);
  for (let from = 1; from < words.length; from += 1) {
    const title = words.slice(from).join(separator);
    const file = files.find((one) => readFileSync(one, 'utf8').includes(title));
    if (file !== undefined) return { file, title };
  }
  return undefined;
}
