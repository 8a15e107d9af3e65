/**
 * The built-in simulated vendor: answers without a network, for trials and load tests. A token is a word, so that the
 * figures can be checked by counting.
 */
import type { LlmRequest, Message, ReplyItem } from '../contract.js';
import type { ClockLimits } from '../transport/attempt-clocks.js';
import { AttemptFeed, type Attempt } from '../transport/attempt-feed.js';
import type { CallTime } from '../transport/call-time.js';
import { zeroUsage, type Usage } from '../usage.js';
import { simInputWords } from './input-words.js';
import type { SimModel } from './sim-model.js';
import { loremPiece, wordPieces } from './words.js';

export interface SimAttemptOptions {
  readonly model: SimModel;
  readonly modelName: string;
  readonly request: LlmRequest;
  readonly id: string;
  readonly time: CallTime;
  readonly clocks: ClockLimits;
}

/** Words per batch without a delay; the reader's backlog decides how soon more follow. */
const wordsPerTurn = 512;

export function openSimAttempt(options: SimAttemptOptions): Attempt {
  const feed = new AttemptFeed({ vendor: 'sim', time: options.time, clocks: options.clocks });
  feed.facts.accepted = true;
  new SimAnswer(feed, options).start();
  return feed;
}

class SimAnswer {
  readonly #feed: AttemptFeed;
  readonly #options: SimAttemptOptions;
  readonly #count: number;
  readonly #delayMs: number;
  readonly #pieceAt: (index: number) => string;
  #next = 0;
  #paused = false;
  #timer: { cancel(): void } | undefined;

  constructor(feed: AttemptFeed, options: SimAttemptOptions) {
    this.#feed = feed;
    this.#options = options;
    const { model } = options;
    if (model.kind === 'lorem') {
      this.#count = model.words;
      this.#delayMs = model.delayMs;
      this.#pieceAt = loremPiece;
    } else {
      const pieces = wordPieces(`echo: ${lastUserText(options.request.messages)}`);
      this.#count = pieces.length;
      this.#delayMs = 0;
      this.#pieceAt = (index) => pieces[index] ?? '';
    }
  }

  start(): void {
    this.#feed.source = {
      pause: () => {
        this.#paused = true;
      },
      resume: () => {
        this.#paused = false;
        this.#go();
      },
      close: () => this.#timer?.cancel(),
    };
    const { id, modelName } = this.#options;
    this.#feed.accept(0, (out) => out.push({ type: 'start', id, model: modelName }));
    this.#go();
  }

  #go(): void {
    this.#timer?.cancel();
    if (this.#delayMs > 0 && this.#next < this.#count) {
      this.#timer = this.#options.time.after(this.#delayMs, () => {
        this.#send(1);
        if (!this.#paused) this.#go();
      });
      return;
    }
    while (this.#next < this.#count && !this.#paused) this.#send(wordsPerTurn);
    if (this.#next >= this.#count && !this.#paused) this.#finish();
  }

  #send(words: number): void {
    const until = Math.min(this.#count, this.#next + words);
    const pieces: ReplyItem[] = [];
    let bytes = 0;
    for (; this.#next < until; this.#next += 1) {
      const text = this.#pieceAt(this.#next);
      bytes += text.length;
      pieces.push({ type: 'content', text });
    }
    this.#feed.accept(bytes, (out) => {
      for (const piece of pieces) out.push(piece);
    });
  }

  #finish(): void {
    this.#feed.accept(0, (out) =>
      out.push({ type: 'usage', usage: this.#usage() }, { type: 'stop', reason: 'stop', raw: 'stop' }),
    );
    this.#feed.finish();
  }

  #usage(): Usage {
    const inputUncached = simInputWords(this.#options.request);
    const raw = { input_words: inputUncached, output_words: this.#count };
    return { ...zeroUsage, inputUncached, outputVisible: this.#count, raw };
  }
}

/** The user's own text: the declared context that travels with it is not repeated. */
function lastUserText(messages: readonly Message[]): string {
  const last = messages.findLast((message) => message.role === 'user');
  return last?.content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n') ?? '';
}
