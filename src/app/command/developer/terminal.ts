import { createInterface, type Interface, type ReadLineOptions } from 'node:readline/promises';
import { interruptedExitCode } from './developer-command.js';

/**
 * Asks one question; undefined after Ctrl-D. Ctrl-C ends the command as it does elsewhere: readline takes the key, so
 * that the process gets no signal.
 */
export async function answerTo(
  question: string,
  options: Omit<ReadLineOptions, 'input'>,
): Promise<string | undefined> {
  const asking = createInterface({ input: process.stdin, ...options });
  asking.on('SIGINT', () => {
    asking.close();
    process.stderr.write('\n');
    process.exit(interruptedExitCode);
  });
  const ended = new Promise<undefined>((resolve) => asking.once('close', () => resolve(undefined)));
  try {
    return await Promise.race([asking.question(question), ended]);
  } finally {
    asking.close();
  }
}

/** The lines that a person types, one after the other. Those that come while a turn runs wait for its end. */
export class TypedLines {
  readonly #asking: Interface;
  readonly #prompt: string;
  readonly #waiting: string[] = [];
  #take: ((line: string | undefined) => void) | undefined;
  #isOver = false;

  constructor(asking: Interface, prompt: string) {
    this.#asking = asking;
    this.#prompt = prompt;
    asking.setPrompt(prompt);
    asking.on('line', (line) => {
      if (this.#take === undefined) this.#waiting.push(line);
      else this.#give(line);
    });
    // Ctrl-D, Ctrl-C at the prompt, or the end of the input.
    asking.once('close', () => {
      this.#isOver = true;
      this.#give(undefined);
    });
  }

  /** The next line; undefined after the last one. */
  async next(): Promise<string | undefined> {
    const line = this.#waiting.shift();
    // The line was shown where it was typed, perhaps within an answer.
    if (line !== undefined) process.stderr.write(`${this.#prompt}${line}\n`);
    if (line !== undefined || this.#isOver) return line;
    return new Promise((resolve) => {
      this.#take = resolve;
      // What is typed already stays, with the cursor where it is.
      this.#asking.prompt(true);
    });
  }

  /** Forgets what waits, as a terminal does at Ctrl-C. */
  drop(): void {
    this.#waiting.length = 0;
  }

  #give(line: string | undefined): void {
    this.#take?.(line);
    this.#take = undefined;
  }
}
