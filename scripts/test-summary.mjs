// What ava's output says of a run, short: the counts, and why it failed. Of a log often only the last lines are left.
import { stripVTControlCharacters } from 'node:util';

/** Lines that say that something failed, beside those that begin with a cross. */
const alarms =
  /^(?:Uncaught exception in |Unhandled rejection in |Failed to exit when running |\d+ tests? (?:were pending|remained pending)|◌ )/;
/** Of a stack what is neither the test's nor the project's. */
const foreign = /^at .*(?:node_modules|node:internal)/;
const linesOfOneMax = 14;
const failuresMax = 30;

export class TestSummary {
  passed = 0;
  failed = 0;
  /** @type {{ text: string, more: string[] }[]} */
  #failures = [];
  /** Whose lines come now: those of the failure that was told last, or at the end of the one whose title stood there. */
  #open;
  #atEnd = false;

  /** Takes each line that ava prints. */
  take(line) {
    const text = stripVTControlCharacters(line).trim();
    const [mark] = text;
    // Counted as they come: where tests failed, ava's own last lines do not say how many passed.
    if (mark === '✔') this.passed += 1;
    if (mark === '✘') this.failed += 1;
    if (mark === '─') this.#atEnd = true;
    if (mark === '✔' || mark === '─') this.#open = undefined;
    else if (mark === '✘' || alarms.test(text)) this.#failures.push((this.#open = { text, more: [] }));
    else if (text !== '') this.#note(text);
  }

  #note(text) {
    // Below the line ava shows each failure whole, under the title of its test.
    const titled =
      this.#atEnd && this.#failures.find((one) => `${one.text} `.startsWith(`✘ [fail]: ${text} `));
    if (titled) this.#open = titled;
    else if (this.#open !== undefined && this.#open.more.length < linesOfOneMax && !foreign.test(text)) {
      this.#open.more.push(text);
    }
  }

  /** Each failure with the first lines of its reason; empty where nothing failed. */
  get text() {
    if (this.#failures.length === 0) return '';
    const shown = this.#failures.slice(0, failuresMax);
    const rest = this.#failures.length - shown.length;
    const lines = shown.flatMap(({ text, more }) => [text, ...more.map((line) => `    ${line}`)]);
    return ['', '── failed', ...lines, ...(rest > 0 ? [`and ${rest} more`] : []), ''].join('\n');
  }
}
