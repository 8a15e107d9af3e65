/**
 * The built-in simulated vendor: answers without a network, for trials and load tests. A token is a word, so that the
 * figures can be checked by counting.
 */
import type { LlmRequest, ReplyItem, StopReason } from '../contract.js';
import type { ClockLimits } from '../transport/attempt-clocks.js';
import { AttemptFeed, type Attempt } from '../transport/attempt-feed.js';
import type { CallTime } from '../transport/call-time.js';
import { zeroUsage, type Usage } from '../usage.js';
import { simInputWords } from './input-words.js';
import type { SimModel } from './sim-model.js';
import { type SimAnswer, toolsAnswer } from './sim-tools.js';
import { lastUserText } from './user-text.js';
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
  new Answering(feed, options).start();
  return feed;
}

class Answering {
  readonly #feed: AttemptFeed;
  readonly #options: SimAttemptOptions;
  readonly #count: number;
  readonly #delayMs: number;
  readonly #itemAt: (index: number) => ReplyItem;
  readonly #stop: StopReason;
  readonly #sequence: string | undefined;
  #next = 0;
  #words = 0;
  #paused = false;
  #timer: { cancel(): void } | undefined;

  constructor(feed: AttemptFeed, options: SimAttemptOptions) {
    this.#feed = feed;
    this.#options = options;
    const { model } = options;
    this.#delayMs = model.kind === 'echo' ? 0 : model.delayMs;
    if (model.kind === 'lorem') {
      this.#count = model.words;
      this.#itemAt = (index) => content(loremPiece(index));
      this.#stop = 'stop';
      return;
    }
    const { items, stop, sequence } =
      model.kind === 'tools' ? toolsAnswer(options.request) : echo(options.request);
    this.#count = items.length;
    this.#itemAt = (index) => items[index] ?? content('');
    this.#stop = stop;
    this.#sequence = sequence;
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
      const item = this.#itemAt(this.#next);
      if (item.type === 'content' || item.type === 'tool_call_arguments') {
        bytes += item.text.length;
        this.#words += 1;
      }
      pieces.push(item);
    }
    this.#feed.accept(bytes, (out) => {
      for (const piece of pieces) out.push(piece);
    });
  }

  #finish(): void {
    const sequence = this.#sequence;
    this.#feed.accept(0, (out) =>
      out.push(
        { type: 'usage', usage: this.#usage() },
        { type: 'stop', reason: this.#stop, raw: this.#stop, ...(sequence !== undefined && { sequence }) },
      ),
    );
    this.#feed.finish();
  }

  #usage(): Usage {
    const inputUncached = simInputWords(this.#options.request);
    const raw = { input_words: inputUncached, output_words: this.#words };
    return { ...zeroUsage, inputUncached, outputVisible: this.#words, raw };
  }
}

function echo({ messages }: LlmRequest): SimAnswer {
  return { items: wordPieces(`echo: ${lastUserText(messages)}`).map(content), stop: 'stop' };
}

function content(text: string): ReplyItem {
  return { type: 'content', text };
}
