// Counts the failures of many runs of the tests, by file and title.
import { dirname } from 'node:path';
import { declarationOf } from './test-files.mjs';

const failuresMax = 100;
const linesOfOneMax = 3;
const separator = ' › ';

/** The folder that holds all files; ava leaves it out of the titles. */
function commonFolder(files) {
  let folder = dirname(files[0]);
  while (folder !== '.' && !files.every((file) => file.startsWith(`${folder}/`))) folder = dirname(folder);
  return folder;
}

/** ava's mark of a file before a title: `e2e › webhooks`. */
function markOf(file, folder) {
  const path = folder === '.' ? file : file.slice(folder.length + 1);
  return path.replace(/\.test\.js$/, '').replaceAll('/', separator);
}

export class FailureCounts {
  failedRuns = 0;
  #runs = 0;
  /** @type {Map<string, { file: string, title: string, runs: number[], more: string[] }>} */
  #failures = new Map();
  #files;
  #marks;

  constructor(files) {
    const folder = commonFolder(files);
    this.#files = files;
    // The longest first, so that `tools › sandbox` is not taken for `tools`.
    this.#marks = files
      .map((file) => ({ file, mark: `${markOf(file, folder)}${separator}` }))
      .toSorted((one, other) => other.mark.length - one.mark.length);
  }

  /** Adds the failures of one run. */
  take({ number, failed, failures }) {
    this.#runs += 1;
    if (!failed) return;
    this.failedRuns += 1;
    const found = failures.length > 0 ? failures : [{ text: 'the run failed before any test did', more: [] }];
    for (const failure of found) this.#add(number, failure);
  }

  #add(number, { text, title: alone, more }) {
    // The line of a failure also has the message of its error, which may differ between runs.
    const { file, title } = this.#placeOf(alone ?? text);
    const key = `${file}\n${title}`;
    const known = this.#failures.get(key) ?? { file, title, runs: [], more: more.slice(0, linesOfOneMax) };
    if (!known.runs.includes(number)) known.runs.push(number);
    this.#failures.set(key, known);
  }

  #placeOf(text) {
    const title = text.replace(/^✘ (?:\[fail\]: )?/, '');
    // Without other files ava prints titles alone.
    if (this.#files.length === 1) return { file: this.#files[0], title };
    const marked = this.#marks.find(({ mark }) => title.startsWith(mark));
    if (marked !== undefined) return { file: marked.file, title: title.slice(marked.mark.length) };
    const named = this.#files.find(
      (file) => title.includes(file) || title.includes(file.split('/').slice(2).join('/')),
    );
    if (named !== undefined) return { file: named, title };
    return declarationOf(this.#files, title) ?? { file: 'no file', title };
  }

  /** Every failure with its count, the most frequent first. */
  get text() {
    const all = [...this.#failures.values()].toSorted((one, other) => other.runs.length - one.runs.length);
    const lines = all
      .slice(0, failuresMax)
      .flatMap(({ file, title, runs, more }) => [
        `${runs.length} of ${this.#runs}  ${file}  ${title}  (runs ${runs.join(', ')})`,
        ...more.map((line) => `    ${line}`),
      ]);
    if (all.length > failuresMax) lines.push(`and ${all.length - failuresMax} more`);
    const end = `${this.#runs} runs, ${this.failedRuns} failed, ${all.length} different failures`;
    return `${[...lines, end].join('\n')}\n`;
  }
}
