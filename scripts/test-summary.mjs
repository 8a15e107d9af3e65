// Summarizes ava's output: the counts and the failures. It comes last, because logs are often truncated to their end.
import { stripVTControlCharacters } from 'node:util';
import { declarationOf } from './test-files.mjs';

/** Lines that report a failure, besides those that start with a cross. */
const alarms =
  /^(?:Uncaught exception in |Unhandled rejection in |Failed to exit when running |\d+ tests? (?:were pending|remained pending)|◌ )/;
/** Stack frames outside the project. */
const foreign = /^at .*(?:node_modules|node:internal)/;
const linesOfOneMax = 14;
const failuresMax = 30;

export class TestSummary {
  passed = 0;
  failed = 0;
  /** @type {{ text: string, title?: string, more: string[] }[]} */
  #failures = [];
  /** The failure that the current lines belong to: the last one reported, or below the line the one with that title. */
  #open;
  #atEnd = false;
  #files;

  /** @param {readonly string[]} [files] the test files of the run, to name those that failed */
  constructor(files = []) {
    this.#files = files;
  }

  /** Another run of ava begins, whose output follows. */
  begin() {
    this.#atEnd = false;
    this.#open = undefined;
  }

  /** Processes one line of ava's output. */
  take(line) {
    const text = stripVTControlCharacters(line).trim();
    const [mark] = text;
    // Counted here, because ava's final lines omit the number of passed tests if any failed.
    if (mark === '✔') this.passed += 1;
    if (mark === '✘') this.failed += 1;
    if (mark === '─') this.#atEnd = true;
    if (mark === '✔' || mark === '─') this.#open = undefined;
    else if (mark === '✘' || alarms.test(text)) this.#failures.push((this.#open = { text, more: [] }));
    else if (text !== '') this.#note(text);
  }

  #note(text) {
    // Below the line ava shows each failure in full, under the title of its test.
    const titled =
      this.#atEnd && this.#failures.find((one) => `${one.text} `.startsWith(`✘ [fail]: ${text} `));
    if (titled) {
      this.#open = titled;
      titled.title ??= text;
    } else if (this.#open !== undefined && this.#open.more.length < linesOfOneMax && !foreign.test(text)) {
      this.#open.more.push(text);
    }
  }

  /** Each failure with the first lines of its reason. */
  get failures() {
    return this.#failures;
  }

  /** The same as text; empty if nothing failed. */
  get text() {
    if (this.#failures.length === 0) return '';
    const shown = this.#failures.slice(0, failuresMax);
    const rest = this.#failures.length - shown.length;
    const lines = shown.flatMap(({ text, title, more }) => {
      const place = declarationOf(this.#files, title ?? '');
      const notes = place === undefined ? more : [`in ${place.file}`, ...more];
      return [text, ...notes.map((line) => `    ${line}`)];
    });
    return ['', '── failed', ...lines, ...(rest > 0 ? [`and ${rest} more`] : []), ''].join('\n');
  }
}
